// Interface of the platform module, which every other module may import.

export { createFileCache } from './caching/file-cache.ts';
export { lruCacheOptions } from './caching/lru-cache-options.ts';
export {
  type ConcurrencyCounter,
  createConcurrencyCounter,
} from './concurrency/concurrency-counter.ts';
export { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency/concurrency-limit.ts';
export { createKeyedQueue, createKeyedTasks, type KeyedTasks } from './concurrency/keyed-tasks.ts';
export {
  createMemoryReleasingMap,
  type MemoryReleasingMap,
} from './concurrency/memory-releasing-map.ts';
export { createPoller, type Poller } from './concurrency/poller.ts';
export { createRateCounter, type RateStatus } from './concurrency/rate-counter.ts';
export { decryptBytes, encryptBytes } from './crypto/authenticated-encryption.ts';
export { deriveKey } from './crypto/derive-key.ts';
export { keyCheckValue } from './crypto/key-check-value.ts';
export { parseCertificates } from './crypto/parse-certificates.ts';
export {
  listKeysStillSigning,
  listOlderKeysAfterRotation,
  type OlderKeyJson,
  type RetiredKeys,
} from './crypto/retired-keys.ts';
export {
  createSigningKey,
  type PublicSigningKey,
  publicSigningKey,
  type SigningKey,
} from './crypto/signing-key.ts';
export {
  createWebhookHeaders,
  createWebhookKeyPair,
  formatWebhookSecret,
} from './crypto/webhook-signature.ts';
export { applicationName, joinRoleNames } from './database/application-name.ts';
export { runInTransaction } from './database/citus/route-statement.ts';
export { createShardedGroupCommit } from './database/citus/sharded-group-commit.ts';
export {
  findInAllShards,
  forEachShard,
  queryByShard,
  shardOf,
} from './database/citus/shards.ts';
export { parseSafeInteger } from './database/column-parsers.ts';
export {
  type Database,
  type DatabaseOptions,
  type HotStatement,
  openDatabase,
  type PreparedStatement,
  type Queries,
  type Row,
} from './database/database.ts';
export { requireDatabaseAccess } from './database/database-access.ts';
export { createDatabaseClock } from './database/database-clock.ts';
export { withUnknownOutcome } from './database/database-errors.ts';
export { registerDatabaseMetrics } from './database/database-metrics.ts';
export {
  encodeLines,
  encodeSimpleArray,
  encodeTextArray,
} from './database/hot-path/array-encoding.ts';
export {
  createGroupCommit,
  type GroupCommit,
  type GroupCommitOptions,
} from './database/hot-path/group-commit.ts';
export { createPreparedQueries } from './database/hot-path/prepare-statements.ts';
export { type MigrateDeps, migrate } from './database/migrations/migrate.ts';
export {
  explainSchemaMismatch,
  SchemaMismatchError,
} from './database/migrations/schema-mismatch.ts';
export { requirePlatformKey, storePlatformKeyCheck } from './database/platform-key-check.ts';
export { toRecords } from './database/rows-to-records.ts';
export { createSessionTicketKeys, type SessionTicketKeys } from './database/session-ticket-keys.ts';
export {
  createDatabaseTimeline,
  type DatabaseTimeline,
  type LostWriteGuard,
  type Numbering,
  noLostWriteGuard,
  unguardedNumbering,
} from './database/timeline/database-timeline.ts';
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './embedded-postgres/embedded-postgres.ts';
export {
  type ChangeNotifier,
  type ChangeNotifierDeps,
  createChangeNotifier,
  type Subscription,
  type Topic,
  type VersionSource,
} from './events/change-notifier.ts';
export type { OutboxEventData, OutboxEventMapper } from './events/outbox.ts';
export {
  type AfterCommitHint,
  createOutbox,
  type Outbox,
  type OutboxDeps,
  type OutboxRow,
  type OutboxSubscriber,
} from './events/outbox.ts';
export { allBuckets, bucketOf, bucketSql, requireSameBucket } from './identifiers/bucket.ts';
export { type Ids, systemIdGenerator, withJitter } from './identifiers/ids.ts';
export {
  bytesToUuid,
  isLowerCaseUuid,
  isUuid,
  isUuidV7,
  nilUuid,
  smallestUuidAt,
  uuidToBytes,
} from './identifiers/uuid.ts';
export { type CleanupJob, createCleanup } from './jobs/clean-up.ts';
export { createDueClock, type DueClock } from './jobs/due-clock.ts';
export {
  createJobs,
  type Job,
  type JobHandler,
  type Jobs,
  type JobsDeps,
  type NewJob,
  type Reschedule,
} from './jobs/job-queue.ts';
export { deleteJobSql } from './jobs/job-sql.ts';
export { createMail } from './mail/create-mail.ts';
export { deliverMail } from './mail/deliver-mail.ts';
export { mailDirectory } from './mail/mail-files.ts';
export { sanitizeMailName } from './mail/mail-message.ts';
export { type RenderedMail, renderMail } from './mail/render-mail.ts';
export {
  checkMailServer,
  type Mail,
  type MailMessage,
  maxConcurrentMailJobs,
} from './mail/smtp-mail.ts';
export { isLoopbackHost, subscriberNetwork } from './net/address-classes.ts';
export { type AwsClient, type AwsResult, createAwsClient } from './net/aws-client.ts';
export {
  type AwsCredentials,
  type AwsRequest,
  type AwsScope,
  signAwsRequest,
} from './net/aws-signature.ts';
export type { AddressLookup } from './net/dns-lookup.ts';
export { limitIncompleteRequests } from './net/incomplete-requests.ts';
export { onConnectionOpened } from './net/on-connection-opened.ts';
export {
  type CallFault,
  type CallResult,
  createOutgoingCalls,
  type OutgoingCall,
  type OutgoingCalls,
} from './net/outgoing-calls.ts';
export { startResponseTimeout } from './net/response-timeout.ts';
export { type AddressGuard, addressRefusedError, createAddressGuard } from './net/ssrf-guard.ts';
export { buildVersion } from './observability/build-version.ts';
export { createLog, type Log, type LogSettings, type LogStream } from './observability/log.ts';
export { createMetrics, type Metrics } from './observability/metrics.ts';
export {
  createMonitoringListener,
  type MonitoringListener,
  type MonitoringListenerOptions,
  type ReadinessCheck,
} from './observability/monitoring-listener.ts';
export {
  isSecretMember,
  redactedPlaceholder,
  redactLogLine,
  redactText,
} from './observability/redaction.ts';
export { createFailPoints, type FailPointName, type FailPoints } from './process/fail-points.ts';
export { checkFileDescriptorLimit } from './process/file-descriptor-limit.ts';
export { lowerGcThreadPriority } from './process/gc-thread-priority.ts';
export { createLifecycle, type Lifecycle } from './process/lifecycle.ts';
export { explainPortInUse, requireFreePorts } from './process/listen-ports.ts';
export {
  isProcessAlive,
  isSameProcessAlive,
  readProcessIdentity,
} from './process/process-identity.ts';
export {
  acquirerLinkRules,
  allowedAcquirerProxies,
  outgoingCallRules,
} from './settings/address-settings.ts';
export { nearestName } from './settings/nearest-name.ts';
export {
  type EnvironmentVariables,
  omitCardSettings,
  readSettings,
  type Settings,
  SettingsError,
  withActualPorts,
} from './settings/settings.ts';
export {
  type Environment,
  type Setting,
  settingPrefix,
  settingsTable,
  variableName,
  variableNames,
} from './settings/settings-table.ts';
export { escapeHtml } from './texts/escape-html.ts';
export { fillTemplate } from './texts/fill-template.ts';
export {
  chooseLanguage,
  isLanguage,
  type Language,
  type Translations,
} from './texts/languages.ts';
export {
  type Clock,
  dayMs,
  hourMs,
  isoDay,
  isoTime,
  minuteMs,
  pause,
  systemClock,
} from './time/clock.ts';
export { reportCertificateExpiry, warnBeforeExpiry } from './tls/certificate-expiry.ts';
export { ensureListenerCertificate, type ListenerCertificate } from './tls/listener-certificate.ts';
export {
  endSpan,
  failSpan,
  type Span,
  startChildSpan,
  startSpan,
} from './tracing/span.ts';
export { parseTraceparent } from './tracing/trace-context.ts';
export { createTracer, type Tracer } from './tracing/tracer.ts';
