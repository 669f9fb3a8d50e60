// Configures the embedded PostgreSQL: durable, for two cores, modest in memory whatever the machine has.
import { totalmem } from 'node:os';

const mebibyte = 1024 * 1024;
const minSharedMebibytes = 64;
const maxSharedMebibytes = 768;
/** A 32nd: hot index pages of ten million sales fit at 24 GiB, and the kernel caches the rest anyway. */
const sharedDivisor = 32;

/** Settings by name; the values are written as PostgreSQL reads them. */
export type PostgresSettings = Readonly<Record<string, string>>;

export function postgresConfiguration(overrides: PostgresSettings = {}): string {
  const memory = availableMebibytes();
  const shared = Math.floor(memory / sharedDivisor);
  const settings: PostgresSettings = {
    ...fixedSettings,
    shared_buffers: `${Math.min(maxSharedMebibytes, Math.max(minSharedMebibytes, shared))}MB`,
    effective_cache_size: `${Math.floor(memory / 2)}MB`,
    ...overrides,
  };
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`,
  );
  return `# Written at each start; changes are lost.\n${lines.join('\n')}\n`;
}

/** What the container allows where it allows less than the machine has. */
function availableMebibytes(): number {
  const allowed = process.constrainedMemory();
  return Math.floor((allowed > 0 ? Math.min(allowed, totalmem()) : totalmem()) / mebibyte);
}

const fixedSettings: PostgresSettings = {
  // Reached through its socket alone.
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '40',

  // An acknowledged sale survives the loss of power.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // This build compresses with pglz only, which costs more of two cores than the disk it saves.
  wal_compression: 'off',
  // No tool for standbys or archives comes with it; whoever needs them brings a database of their own.
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_buffers: '16MB',
  // Few checkpoints: each makes the next write of every page a whole page in the log.
  max_wal_size: '4GB',
  min_wal_size: '256MB',
  checkpoint_timeout: '15min',

  // Nothing is scanned in bulk: the fewer processes, the better for two cores.
  huge_pages: 'try',
  work_mem: '8MB',
  maintenance_work_mem: '128MB',
  io_method: 'sync',
  max_worker_processes: '4',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '1',
  jit: 'off',
  random_page_cost: '1.1',

  // Queues turn over completely: clean up early, little by little.
  autovacuum_naptime: '10s',
  autovacuum_max_workers: '2',
  autovacuum_vacuum_threshold: '500',
  autovacuum_vacuum_scale_factor: '0.05',
  // A table analysed while nearly empty gets plans that walk all of it; before, the planner assumes more.
  autovacuum_analyze_threshold: '1000',
  autovacuum_analyze_scale_factor: '0.05',
  // Rows are found by whole keys whatever the statistics say. A sample of the usual size took a core for
  // almost a second, every ten seconds while the tables were young; a tenth of it takes 40 ms.
  default_statistics_target: '10',
  autovacuum_vacuum_cost_limit: '400',

  // Sorted batches cannot deadlock each other; what does is told soon.
  deadlock_timeout: '200ms',
  idle_in_transaction_session_timeout: '60s',

  // Values of refused statements stay out of the log: the client is told, and its log is scrubbed.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_line_prefix: '%m [%p] ',
  log_timezone: 'UTC',
  timezone: 'UTC',
  datestyle: 'iso, ymd',
  update_process_title: 'off',
};
