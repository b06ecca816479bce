//! Settings that are kept in the cluster: of brokers, of all brokers, of topics (KIP-226, KIP-339).

use kafka_protocol::messages::{
    DescribeConfigsRequest, DescribeConfigsResponse, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    describe_configs_request::DescribeConfigsResource,
    describe_configs_response::DescribeConfigsResourceResult,
    incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig},
};

use super::{Admin, Error, call::call};

call!(DescribeConfigsRequest => DescribeConfigsResponse, DescribeConfigs, reads, 4,
    |answer| answer.results.iter().map(|result| result.error_code).collect());
call!(IncrementalAlterConfigsRequest => IncrementalAlterConfigsResponse, IncrementalAlterConfigs, changes, 1,
    |answer| answer.responses.iter().map(|resource| resource.error_code).collect());

/// Whose settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Those of one broker. Only that broker can be asked; that one and the active controller can be told. Others refuse, so
    /// [`super::Route::Brokers`] does not do. What a broker must check itself only it takes: `cordoned.log.dirs`, which controllers
    /// only shorten.
    Broker(i32),
    /// What brokers take that have no value of their own ("cluster default").
    Brokers,
    /// The levels of one broker's loggers, which are gone when it stops. To be asked of that broker (KIP-412).
    Logger(i32),
    /// Those of a topic.
    Topic(String),
}

/// A setting and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its value; nothing if it has none or must not be told.
    pub value: Option<String>,
    /// Where the value is from.
    pub source: Source,
    /// Whether it can only be changed in the node's file.
    pub read_only: bool,
    /// Whether its value must not be told.
    pub sensitive: bool,
}

/// Where a value is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It was set for the topic.
    Topic,
    /// It was set for the broker.
    Broker,
    /// It was set for all brokers.
    Brokers,
    /// It is in the node's file.
    File,
    /// Nobody has set it.
    Default,
    /// It was set for the logger.
    Logger,
    /// Something newer.
    Other(i8),
}

/// A change of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It gets this value.
    Set(String),
    /// It gets back the value that it has without being set here.
    Delete,
    /// This is put into its list.
    Append(String),
    /// This is taken out of its list.
    Subtract(String),
}

impl Resource {
    /// Kind and name in the protocol (`ConfigResource.Type`).
    fn parts(&self) -> (i8, String) {
        match self {
            Self::Topic(name) => (2, name.clone()),
            Self::Brokers => (4, String::new()),
            Self::Broker(id) => (4, id.to_string()),
            Self::Logger(id) => (8, id.to_string()),
        }
    }
}

impl From<i8> for Source {
    fn from(number: i8) -> Self {
        match number {
            1 => Self::Topic,
            2 => Self::Broker,
            3 => Self::Brokers,
            4 => Self::File,
            5 => Self::Default,
            6 => Self::Logger,
            other => Self::Other(other),
        }
    }
}

impl Change {
    /// Kind and value in the protocol (`AlterConfigOp.OpType`).
    fn parts(&self) -> (i8, Option<String>) {
        match self {
            Self::Set(value) => (0, Some(value.clone())),
            Self::Delete => (1, None),
            Self::Append(value) => (2, Some(value.clone())),
            Self::Subtract(value) => (3, Some(value.clone())),
        }
    }
}

fn entry(config: &DescribeConfigsResourceResult) -> Entry {
    Entry {
        name: config.name.to_string(),
        value: config.value.as_ref().map(ToString::to_string),
        source: config.config_source.into(),
        read_only: config.read_only,
        sensitive: config.is_sensitive,
    }
}

fn alterable((resource, changes): &(Resource, Vec<(String, Change)>)) -> AlterConfigsResource {
    let (kind, name) = resource.parts();
    let configs = changes.iter().map(|(name, change)| {
        let (operation, value) = change.parts();
        AlterableConfig::default()
            .with_name(name.clone().into())
            .with_config_operation(operation)
            .with_value(value.map(Into::into))
    });
    AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(name.into())
        .with_configs(configs.collect())
}

/// The outcome of each resource, in the order in which they were asked for.
fn in_order<'a, T>(
    asked: impl Iterator<Item = &'a Resource>,
    mutates: bool,
    mut take: impl FnMut(i8, &str) -> Option<Result<T, Error>>,
) -> Vec<(Resource, Result<T, Error>)> {
    asked
        .map(|resource| {
            let (kind, name) = resource.parts();
            let outcome = take(kind, &name);
            let missing = || Err(Error::incomplete("one of the resources", mutates));
            (resource.clone(), outcome.unwrap_or_else(missing))
        })
        .collect()
}

impl Admin {
    /// The settings of these resources, all or those with these names.
    pub async fn describe_configs(
        &self,
        resources: &[Resource],
        names: Option<&[&str]>,
    ) -> Result<Vec<(Resource, Result<Vec<Entry>, Error>)>, Error> {
        let wanted = |resource: &Resource| {
            let (kind, name) = resource.parts();
            let keys = names.map(|names| names.iter().map(|name| (*name).to_owned().into()).collect());
            DescribeConfigsResource::default()
                .with_resource_type(kind)
                .with_resource_name(name.into())
                .with_configuration_keys(keys)
        };
        let request =
            DescribeConfigsRequest::default().with_resources(resources.iter().map(wanted).collect());
        let answer = self.call(&request).await?;
        Ok(in_order(resources.iter(), false, |kind, name| {
            let result = answer
                .results
                .iter()
                .find(|result| result.resource_type == kind && result.resource_name.as_str() == name)?;
            let entries = Error::check(result.error_code, result.error_message.as_deref(), false)
                .map(|()| result.configs.iter().map(entry).collect());
            Some(entries)
        }))
    }

    /// Changes settings; each resource has its own outcome. `validate_only`: says whether it would, and changes nothing.
    pub async fn alter_configs(
        &self,
        changes: &[(Resource, Vec<(String, Change)>)],
        validate_only: bool,
    ) -> Result<Vec<(Resource, Result<(), Error>)>, Error> {
        let request = IncrementalAlterConfigsRequest::default()
            .with_resources(changes.iter().map(alterable).collect())
            .with_validate_only(validate_only);
        let answer = self.call(&request).await?;
        Ok(in_order(changes.iter().map(|(resource, _)| resource), true, |kind, name| {
            let result = answer
                .responses
                .iter()
                .find(|result| result.resource_type == kind && result.resource_name.as_str() == name)?;
            Some(Error::check(result.error_code, result.error_message.as_deref(), true))
        }))
    }
}
