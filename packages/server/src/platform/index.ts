// The door of the platform: what every room may use and no room may change.

export { type AddressGuard, addressRefusedError, createAddressGuard } from './address-guard.ts';
export type { AddressLookup } from './address-lookup.ts';
export { applicationName, roleName } from './application-name.ts';
export { linesOf, plainArray, textArray } from './array-text.ts';
export { atMost } from './at-most.ts';
export { type AwsClient, type AwsResult, createAwsClient } from './aws-client.ts';
export { type AwsCredentials, type AwsRequest, type AwsScope, signAws } from './aws-signature.ts';
export { ensureCertificates, type ListenerCertificate } from './certificates.ts';
export { checkPorts } from './check-ports.ts';
export { type Clock, isoTime, pause, systemClock } from './clock.ts';
export { createMail } from './create-mail.ts';
export {
  type Database,
  type DatabaseOptions,
  type HotStatement,
  openDatabase,
  type Row,
  type SessionQuery,
} from './database.ts';
export { createDatabaseClock } from './database-clock.ts';
export { behindCommit } from './database-errors.ts';
export {
  createDatabaseTimeline,
  type DatabaseTimeline,
  type GuardedTimeline,
  type Numbering,
  unguardedNumbering,
  unguardedTimeline,
} from './database-timeline.ts';
export { createDueClock, type DueClock } from './due-clock.ts';
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './embedded-postgres.ts';
export { yieldEngineThreads } from './engine-threads.ts';
export type { EventFacts, EventSource } from './event-source.ts';
export { createFailPoints, type FailPointName, type FailPoints } from './fail-points.ts';
export { createFileCache } from './file-cache.ts';
export { createGroupCommit, type GroupCommit, type GroupCommitOptions } from './group-commit.ts';
export { type Ids, jittered, systemIds } from './ids.ts';
export { createInFlight, type InFlight } from './in-flight.ts';
export { limitIncompleteRequests } from './incomplete-requests.ts';
export { endedJob } from './job-statements.ts';
export {
  createJobs,
  type Job,
  type JobHandler,
  type Jobs,
  type JobsDeps,
  type Later,
  type NewJob,
} from './jobs.ts';
export { deriveKey } from './keys.ts';
export { createLifecycle, type Lifecycle } from './lifecycle.ts';
export {
  createLive,
  type Live,
  type LiveDeps,
  type Subscription,
  type Topic,
  type VersionSource,
} from './live.ts';
export { createLog, type Log, type LogSettings, type LogStream } from './log.ts';
export { isLoopbackHost } from './loopback.ts';
export { type Mail, type MailMessage, mailsAtOnce } from './mail.ts';
export { mailDirOf } from './mail-catcher.ts';
export { deliverMail } from './mail-delivery.ts';
export { mailName } from './mail-name.ts';
export { createMetrics, type Metrics } from './metrics.ts';
export { type MigrateDeps, migrate } from './migrations.ts';
export {
  createMonitoring,
  type Monitoring,
  type MonitoringOptions,
  type ReadinessCheck,
} from './monitoring.ts';
export { nearestName } from './nearest-name.ts';
export { onConnection } from './open-connection.ts';
export { checkOpenFiles } from './open-files.ts';
export {
  type AfterCommit,
  createOutbox,
  type Outbox,
  type OutboxDeps,
  type OutboxRow,
  type OutboxSubscriber,
} from './outbox.ts';
export {
  type CallFault,
  type CallResult,
  createOutgoingCalls,
  type OutgoingCall,
  type OutgoingCalls,
} from './outgoing-calls.ts';
export { whenOver } from './patience.ts';
export { createPoller, type Poller } from './poller.ts';
export { explainPortInUse } from './port-in-use.ts';
export { isAlive, isMarkAlive, processMark } from './postgres-home.ts';
export { safeInteger } from './postgres-types.ts';
export { createPreparedRun } from './prepared-run.ts';
export { preparedText } from './prepared-text.ts';
export { isSecretMember, redacted, scrubText } from './redaction.ts';
export {
  type OlderKey,
  olderAfterRenewal,
  type RetiredKeys,
  stillSigning,
} from './retired-keys.ts';
export { explainSchemaMismatch, SchemaMismatchError } from './schema-mismatch.ts';
export { openSealed, seal } from './seal.ts';
export {
  readSettings,
  type Settings,
  SettingsFault,
  type Variables,
  withoutCards,
  withPorts,
} from './settings.ts';
export { acquirerProxiesOf, callRulesOf, linkRulesOf } from './settings-addresses.ts';
export { type Environment, type Setting, settingPrefix, settingsTable } from './settings-table.ts';
export {
  createSigningKey,
  type PublicSigningKey,
  publicSigningKey,
  type SigningKey,
} from './signing-key.ts';
export { fillTemplate } from './text-template.ts';
export { webhookHeaders, webhookKeyPair, webhookSecret } from './webhook-signature.ts';
export { createWorks, type Works } from './works.ts';
