//! What a node can do, and what the cluster has agreed on (KIP-584).

use std::collections::BTreeMap;

use kafka_protocol::messages::{
    UpdateFeaturesRequest, UpdateFeaturesResponse, update_features_request::FeatureUpdateKey,
};

use super::{Admin, Error, call::call, connection::api_versions};

/// The feature whose level is the version of the metadata.
pub const METADATA_VERSION: &str = "metadata.version";
/// The feature whose level 1 is the dynamic quorum (KIP-853).
pub const KRAFT_VERSION: &str = "kraft.version";

call!(UpdateFeaturesRequest => UpdateFeaturesResponse, UpdateFeatures, changes, 1, |answer| vec![answer.error_code]);

/// What a node tells of itself and of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// The versions of each request that the node has, first and last, by Kafka's number of the request.
    pub requests: BTreeMap<i16, (i16, i16)>,
    /// The levels that this node can have, lowest and highest, by feature.
    pub supported: BTreeMap<String, (i16, i16)>,
    /// The levels that the cluster has, by feature, as far as this node knows. One that is missing has level 0.
    pub finalized: BTreeMap<String, i16>,
    /// Of which moment `finalized` is: an offset in the metadata log. Nothing if the node does not know the levels.
    pub epoch: Option<i64>,
}

impl Features {
    /// The cluster's level of a feature; nothing if the node does not know it.
    pub fn level(&self, feature: &str) -> Option<i16> {
        self.epoch.map(|_| self.finalized.get(feature).copied().unwrap_or(0))
    }
}

/// Which way a level may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Only up.
    Upgrade,
    /// Only down, and only if nothing is lost.
    SafeDowngrade,
}

/// A level that a feature shall have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureUpdate {
    /// The feature, as [`METADATA_VERSION`].
    pub feature: String,
    /// Its new level.
    pub level: i16,
    /// Which way that may be.
    pub step: Step,
}

impl Admin {
    /// What a node can do, and the cluster's levels as far as it knows.
    pub async fn features(&self) -> Result<Features, Error> {
        let answer = self.call(&api_versions()).await?;
        Error::check(answer.error_code, None, false)?;
        Ok(Features {
            requests: answer
                .api_keys
                .iter()
                .map(|api| (api.api_key, (api.min_version, api.max_version)))
                .collect(),
            supported: answer
                .supported_features
                .iter()
                .map(|feature| (feature.name.to_string(), (feature.min_version, feature.max_version)))
                .collect(),
            finalized: answer
                .finalized_features
                .iter()
                .map(|feature| (feature.name.to_string(), feature.max_version_level))
                .collect(),
            epoch: Some(answer.finalized_features_epoch).filter(|epoch| *epoch >= 0),
        })
    }

    /// Changes levels, all or none. `validate_only`: says whether it would, and changes nothing.
    pub async fn update_features(&self, updates: &[FeatureUpdate], validate_only: bool) -> Result<(), Error> {
        let update = |update: &FeatureUpdate| {
            FeatureUpdateKey::default()
                .with_feature(update.feature.clone().into())
                .with_max_version_level(update.level)
                .with_upgrade_type(match update.step {
                    Step::Upgrade => 1,
                    Step::SafeDowngrade => 2,
                })
        };
        let request = UpdateFeaturesRequest::default()
            .with_timeout_ms(self.server_timeout())
            .with_feature_updates(updates.iter().map(update).collect())
            .with_validate_only(validate_only);
        let answer = self.call(&request).await?;
        Error::check(answer.error_code, answer.error_message.as_deref(), true)?;
        // Up to version 1 each feature has its own.
        answer
            .results
            .iter()
            .try_for_each(|result| Error::check(result.error_code, result.error_message.as_deref(), true))
    }
}
