// The door of the platform: what every room may use and no room may change.

export { createFileCache } from './caching/file-cache.ts';
export { atMost } from './caching/lru-cache-options.ts';
export { createInFlight, type InFlight } from './concurrency/in-flight-map.ts';
export { createWorks, type Works } from './concurrency/keyed-tasks.ts';
export { createPoller, type Poller } from './concurrency/poller.ts';
export { openSealed, seal } from './crypto/authenticated-encryption.ts';
export { deriveKey } from './crypto/derive-key.ts';
export {
  type OlderKey,
  olderAfterRenewal,
  type RetiredKeys,
  stillSigning,
} from './crypto/retired-keys.ts';
export {
  createSigningKey,
  type PublicSigningKey,
  publicSigningKey,
  type SigningKey,
} from './crypto/signing-key.ts';
export { webhookHeaders, webhookKeyPair, webhookSecret } from './crypto/webhook-signature.ts';
export { applicationName, roleName } from './database/application-name.ts';
export { safeInteger } from './database/column-parsers.ts';
export {
  type Database,
  type DatabaseOptions,
  type HotStatement,
  openDatabase,
  type Row,
  type SessionQuery,
} from './database/database.ts';
export { createDatabaseClock } from './database/database-clock.ts';
export { behindCommit } from './database/database-errors.ts';
export { linesOf, plainArray, textArray } from './database/hot-path/array-encoding.ts';
export {
  createGroupCommit,
  type GroupCommit,
  type GroupCommitOptions,
} from './database/hot-path/group-commit.ts';
export { createPreparedRun } from './database/hot-path/prepare-statements.ts';
export { preparedText } from './database/hot-path/statement-name.ts';
export { type MigrateDeps, migrate } from './database/migrations/migrate.ts';
export {
  explainSchemaMismatch,
  SchemaMismatchError,
} from './database/migrations/schema-mismatch.ts';
export {
  createDatabaseTimeline,
  type DatabaseTimeline,
  type GuardedTimeline,
  type Numbering,
  unguardedNumbering,
  unguardedTimeline,
} from './database/timeline/database-timeline.ts';
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './embedded-postgres/embedded-postgres.ts';
export {
  createLive,
  type Live,
  type LiveDeps,
  type Subscription,
  type Topic,
  type VersionSource,
} from './events/change-notifier.ts';
export {
  type AfterCommit,
  createOutbox,
  type Outbox,
  type OutboxDeps,
  type OutboxRow,
  type OutboxSubscriber,
} from './events/outbox.ts';
export type { EventFacts, EventSource } from './events/outbox-event-mapper.ts';
export { type Ids, jittered, systemIds } from './identifiers/ids.ts';
export { createDueClock, type DueClock } from './jobs/due-clock.ts';
export { endedJob } from './jobs/job-sql.ts';
export {
  createJobs,
  type Job,
  type JobHandler,
  type Jobs,
  type JobsDeps,
  type Later,
  type NewJob,
} from './jobs/jobs.ts';
export { createMail } from './mail/create-mail.ts';
export { deliverMail } from './mail/deliver-mail.ts';
export { mailDirOf } from './mail/mail-files.ts';
export { mailName } from './mail/sanitize-name.ts';
export { type Mail, type MailMessage, mailsAtOnce } from './mail/smtp-mail.ts';
export { isLoopbackHost } from './net/address-classes.ts';
export { type AwsClient, type AwsResult, createAwsClient } from './net/aws-client.ts';
export {
  type AwsCredentials,
  type AwsRequest,
  type AwsScope,
  signAws,
} from './net/aws-signature.ts';
export type { AddressLookup } from './net/dns-lookup.ts';
export { limitIncompleteRequests } from './net/incomplete-requests.ts';
export {
  type CallFault,
  type CallResult,
  createOutgoingCalls,
  type OutgoingCall,
  type OutgoingCalls,
} from './net/outgoing-calls.ts';
export { onConnection } from './net/request-connection.ts';
export { whenOver } from './net/response-timeout.ts';
export { type AddressGuard, addressRefusedError, createAddressGuard } from './net/ssrf-guard.ts';
export { createLog, type Log, type LogSettings, type LogStream } from './observability/log.ts';
export { createMetrics, type Metrics } from './observability/metrics.ts';
export {
  createMonitoring,
  type Monitoring,
  type MonitoringOptions,
  type ReadinessCheck,
} from './observability/monitoring-listener.ts';
export { isSecretMember, redacted, scrubText } from './observability/redaction.ts';
export { createFailPoints, type FailPointName, type FailPoints } from './process/fail-points.ts';
export { checkOpenFiles } from './process/file-descriptor-limit.ts';
export { createLifecycle, type Lifecycle } from './process/lifecycle.ts';
export { checkPorts, explainPortInUse } from './process/listen-ports.ts';
export { isAlive, isMarkAlive, processMark } from './process/process-identity.ts';
export { yieldEngineThreads } from './process/v8-gc-threads.ts';
export { acquirerProxiesOf, callRulesOf, linkRulesOf } from './settings/address-settings.ts';
export { nearestName } from './settings/did-you-mean.ts';
export {
  readSettings,
  type Settings,
  SettingsFault,
  type Variables,
  withoutCards,
  withPorts,
} from './settings/settings.ts';
export {
  type Environment,
  type Setting,
  settingPrefix,
  settingsTable,
} from './settings/settings-table.ts';
export { type Clock, isoTime, pause, systemClock } from './time/clock.ts';
export { ensureCertificates, type ListenerCertificate } from './tls/listener-certificate.ts';
