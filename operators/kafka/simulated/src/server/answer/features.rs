//! What a node can do, and what the cluster has agreed on.

use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, UpdateFeaturesRequest, UpdateFeaturesResponse,
    api_versions_response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey},
};

use super::{Asked, said};
use crate::{
    model::{Code, levels},
    server::dispatch::keys,
};

const METADATA_VERSION: &str = "metadata.version";
/// Its level 1 is the dynamic quorum, which every cluster here has.
const KRAFT_VERSION: &str = "kraft.version";

pub(in crate::server) fn describe(asked: &mut Asked<'_>, _: &ApiVersionsRequest) -> ApiVersionsResponse {
    let api = |key: ApiKey| {
        let versions = key.valid_versions();
        ApiVersion::default()
            .with_api_key(key as i16)
            .with_min_version(versions.min)
            .with_max_version(versions.max)
    };
    let supported = [(METADATA_VERSION, levels::LOWEST, asked.process.newest_level), (KRAFT_VERSION, 0, 1)];
    let supported = supported.map(|(name, min, max)| {
        SupportedFeatureKey::default()
            .with_name(name.to_owned().into())
            .with_min_version(min)
            .with_max_version(max)
    });
    // A controller that has never followed knows no levels; brokers open their port later.
    let known = asked.kafka.level > 0;
    let finalized = [(METADATA_VERSION, asked.kafka.level), (KRAFT_VERSION, 1)];
    let finalized = finalized.map(|(name, level)| {
        FinalizedFeatureKey::default()
            .with_name(name.to_owned().into())
            .with_min_version_level(level)
            .with_max_version_level(level)
    });
    ApiVersionsResponse::default()
        .with_api_keys(keys(asked.port).map(api).collect())
        .with_supported_features(supported.to_vec())
        .with_finalized_features(if known { finalized.to_vec() } else { vec![] })
        .with_finalized_features_epoch(if known { asked.kafka.log } else { -1 })
}

pub(in crate::server) fn update(
    asked: &mut Asked<'_>,
    request: &UpdateFeaturesRequest,
) -> UpdateFeaturesResponse {
    let outcome = asked.through_controller(ApiKey::UpdateFeatures, |kafka| {
        for update in &request.feature_updates {
            if update.feature.as_str() != METADATA_VERSION {
                return Code::InvalidUpdateVersion.because("only metadata.version is simulated");
            }
            kafka.update_level(update.max_version_level, request.validate_only)?;
        }
        Ok(())
    });
    let (code, message) = said(&outcome);
    UpdateFeaturesResponse::default().with_error_code(code).with_error_message(message)
}
