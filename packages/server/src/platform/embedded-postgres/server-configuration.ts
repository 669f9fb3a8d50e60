// Configuration of the embedded PostgreSQL: durable, for two cores, with limited memory.
import { totalmem } from 'node:os';

const mebibyte = 1024 * 1024;
const minSharedMebibytes = 64;
const maxSharedMebibytes = 768;
/** A 32nd: index pages of ten million sales fit at 24 GiB, and the kernel caches the rest. */
const sharedDivisor = 32;

/** Settings by name, with values in PostgreSQL's syntax. */
export type PostgresSettings = Readonly<Record<string, string>>;

/** The first version of PostgreSQL that knows a setting. */
const firstVersions: Readonly<Record<string, number>> = { io_method: 18 };

/** @param version the major version of PostgreSQL */
export function postgresConfiguration(version: number, overrides: PostgresSettings = {}): string {
  const memory = availableMebibytes();
  const shared = Math.floor(memory / sharedDivisor);
  const settings: PostgresSettings = {
    ...fixedSettings,
    shared_buffers: `${Math.min(maxSharedMebibytes, Math.max(minSharedMebibytes, shared))}MB`,
    effective_cache_size: `${Math.floor(memory / 2)}MB`,
    ...overrides,
  };
  const lines = Object.entries(settings)
    .filter(([name]) => version >= (firstVersions[name] ?? 0))
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`);
  return `# Written at each start; changes are lost.\n${lines.join('\n')}\n`;
}

/** The memory limit of the container, if it is lower than the memory of the machine. */
function availableMebibytes(): number {
  const allowed = process.constrainedMemory();
  return Math.floor((allowed > 0 ? Math.min(allowed, totalmem()) : totalmem()) / mebibyte);
}

const fixedSettings: PostgresSettings = {
  // Connections use the Unix socket only.
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '40',

  // An acknowledged sale survives a power failure.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // This build compresses with pglz only, which costs more processor time than it saves on the disk.
  wal_compression: 'off',
  // The package has no tools for standbys or archives; use your own PostgreSQL for them.
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_buffers: '16MB',
  // Few checkpoints: after each, the first write of a page logs the whole page.
  max_wal_size: '4GB',
  min_wal_size: '256MB',
  checkpoint_timeout: '15min',

  // No bulk scans: fewer processes are better for two cores.
  huge_pages: 'try',
  work_mem: '8MB',
  maintenance_work_mem: '128MB',
  io_method: 'sync',
  max_worker_processes: '4',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '1',
  jit: 'off',
  random_page_cost: '1.1',

  // The rows of queues are replaced constantly: vacuum early and in small steps.
  autovacuum_naptime: '10s',
  autovacuum_max_workers: '2',
  autovacuum_vacuum_threshold: '500',
  autovacuum_vacuum_scale_factor: '0.05',
  // A table analysed while nearly empty gets plans that scan all of it. Without statistics the
  // planner assumes more rows.
  autovacuum_analyze_threshold: '1000',
  autovacuum_analyze_scale_factor: '0.05',
  // Rows are found by whole keys, independent of the statistics. The default sample took almost a
  // second of a core every ten seconds while the tables were young; a tenth of it takes 40 ms.
  default_statistics_target: '10',
  autovacuum_vacuum_cost_limit: '400',

  // Sorted batches cannot deadlock each other. Other deadlocks are reported soon.
  deadlock_timeout: '200ms',
  idle_in_transaction_session_timeout: '60s',

  // Values of failed statements stay out of PostgreSQL's log. The client receives the error and redacts its log.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_line_prefix: '%m [%p] ',
  log_timezone: 'UTC',
  timezone: 'UTC',
  datestyle: 'iso, ymd',
  update_process_title: 'off',
};
