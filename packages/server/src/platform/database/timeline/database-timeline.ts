// Detects that the database was restored or failed over, and stops new numbers when acknowledged writes are missing.
import { join } from 'node:path';
import { ProblemError } from '@switchyard/contract';
import { createPoller } from '../../concurrency/poller.ts';
import type { Log } from '../../observability/log.ts';
import { type Database, isPostgres, type Queries } from '../database.ts';
import { sqlState } from '../database-errors.ts';
import type { Shards } from '../queries.ts';
import {
  type AcknowledgedWrite,
  countMissingWrites,
  endStoredRecovery,
  insertStoredTimeline,
  readServerPosition,
  readStoredTimeline,
  type ServerPosition,
  type StoredTimeline,
  skipStoredNumbers,
  storePostgresTimeline,
} from './database-timeline-sql.ts';
import { readTimelineFile, type TimelineRecord, writeTimelineFile } from './timeline-file.ts';

const defaultPollMs = 1000;
/** After a fail-over, the time for every process to compare its own last writes. */
const defaultSettlingMs = 2000;
/** Commits that run at the same time may be acknowledged in another order than they are in the log. */
const maxWrites = 16;
const fileName = 'database-timeline.json';
const recoveryRetryMs = 60_000;
/** Insufficient privilege, feature not supported, undefined function. */
const unsupportedCodes: ReadonlySet<string> = new Set(['42501', '0A000', '42883']);

export type NumberingStatus = {
  readonly isRecoveryRequired: boolean;
  /** Undefined for a database without timelines. */
  readonly timeline: number | undefined;
  readonly jumps: number;
};

/** Used by each part that issues numbers to other parties, or stores payments. */
export type Numbering = {
  /** @throws ProblemError recovery_required, and database_unavailable directly after a fail-over */
  requireAvailable(): void;
  isAvailable(): boolean;
  isRecoveryRequired(): boolean;
  /** Counts the jumps: numbers that were reserved under another count are invalid. */
  jumps(): number;
  /** Called before a write. The returned function is called once the write is committed. */
  beginWrite(): (write: AcknowledgedWrite) => void;
};

const ignoreWrite = () => {};

export const unguardedNumbering: Numbering = {
  requireAvailable: () => {},
  isAvailable: () => true,
  isRecoveryRequired: () => false,
  jumps: () => 0,
  beginWrite: () => ignoreWrite,
};

/** Without a timeline, as in tests of single modules. */
export const noLostWriteGuard: LostWriteGuard = {
  numbering: unguardedNumbering,
  status: () => ({ isRecoveryRequired: false, timeline: undefined, jumps: 0 }),
  recover: async () => false,
  refresh: async () => {},
};

export type LostWriteGuard = Pick<DatabaseTimeline, 'numbering' | 'status' | 'recover' | 'refresh'>;

export type DatabaseTimeline = {
  readonly numbering: Numbering;
  /**
   * Compares the server of a new connection before its first use.
   *
   * @returns a name of the server and its timeline; undefined for a database without timelines
   */
  verifyConnection(queries: Queries): Promise<string | undefined>;
  /** After the migrations. @throws Error where the database cannot be read */
  start(database: Pick<Database, keyof Queries | 'session'>): Promise<void>;
  stop(): Promise<void>;
  status(): NumberingStatus;
  /** Ends the required recovery in the given database transaction. False if none is required. */
  recover(trx: Queries): Promise<boolean>;
  /** Reads the stored state, which another process may have changed. */
  refresh(): Promise<void>;
};

type Options = {
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly dataDir: string;
  readonly pollMs?: number;
  readonly settlingMs?: number;
};

/** The last acknowledged writes, under the count of jumps at which they were made. */
type Evidence = Pick<TimelineRecord, 'jumps' | 'position' | 'writes'>;
type Finding = {
  readonly server: ServerPosition;
  readonly evidence: Evidence;
  readonly missingWrites: number;
  /** The database lacks a part of the evidence. */
  readonly isLost: boolean;
};
type Decision = { readonly row: StoredTimeline; readonly log?: () => void };

/** The SQLSTATE of a server that accepts no connections yet: the database layer tries again. */
const cannotConnectNow = '57P03';

type Server = Omit<ServerPosition, 'position'>;
const serverName = ({ systemIdentifier, timeline }: Server) => `${systemIdentifier}/${timeline}`;
/** Connections are compared by server and timeline only, because the table does not exist before the migrations. */
const isSameDatabase = (a: Server, b: Server) =>
  serverName(a) === serverName(b) && a.databaseIdentifier === b.databaseIdentifier;

/** @example const timeline = createDatabaseTimeline({ log, dataDir }); */
export function createDatabaseTimeline(options: Options): DatabaseTimeline {
  const { log, pollMs = defaultPollMs, settlingMs = defaultSettlingMs } = options;
  const file = join(options.dataDir, fileName);
  let database: Pick<Database, keyof Queries | 'session'> | undefined;
  let shards: Shards | undefined;
  let isSupported: boolean | undefined;
  /** The server of the last comparison. Undefined in a new process without a file. */
  let lastServer: Server | undefined;
  let stored: StoredTimeline | undefined;
  let availableAtMs = 0;
  let isRowMissing = false;
  let latestPosition = 0n;
  let evidence: Evidence = { jumps: 0, position: 0n, writes: [] };
  let isFileOutdated = false;
  let isFileFaultLogged = false;
  let lastRecord: Promise<unknown> = Promise.resolve();

  const jumps = () => stored?.jumps ?? evidence.jumps;
  const isRecoveryRequired = () => stored !== undefined && stored.recoveryRequiredAt !== null;
  const isSettling = () => isRowMissing || (availableAtMs > 0 && performance.now() < availableAtMs);

  const numbering: Numbering = {
    requireAvailable() {
      if (isRecoveryRequired()) {
        throw new ProblemError(
          'recovery_required',
          'The restored database does not contain all payments that the platform confirmed. The platform accepts new payments when its operator has completed the recovery.',
          { retryAfterMs: recoveryRetryMs },
        );
      }
      if (!isSettling()) return;
      throw new ProblemError(
        'database_unavailable',
        'The database was restored, or has switched to another server. The platform checks whether its last payments are stored there. Request the outcome after the time in Retry-After.',
        { retryAfterMs: settlingMs },
      );
    },
    isAvailable: () => !isRecoveryRequired() && !isSettling(),
    isRecoveryRequired,
    jumps,
    beginWrite() {
      if (isSupported !== true) return ignoreWrite;
      const position = latestPosition;
      const jumpsAtStart = jumps();
      return (write) => {
        // The log is written in order: what precedes an acknowledged commit is as durable as the commit.
        const isComparable = jumpsAtStart === evidence.jumps && position > evidence.position;
        const writes = [...evidence.writes.slice(1 - maxWrites), write];
        evidence = {
          ...evidence,
          writes,
          position: isComparable ? position : evidence.position,
        };
        isFileOutdated = true;
      };
    },
  };

  async function readServer(queries: Queries): Promise<ServerPosition | undefined> {
    if (isSupported === false) return undefined;
    try {
      isSupported ??= await isPostgres(queries);
      return isSupported ? await readServerPosition(queries) : undefined;
    } catch (error) {
      if (!unsupportedCodes.has(sqlState(error))) throw error;
      isSupported = false;
      log.warn(
        { err: error },
        'the platform cannot read the timeline of the database, so it cannot detect a restore',
      );
      return undefined;
    }
  }

  /** Undefined for a database without timelines. */
  async function compare(queries: Queries): Promise<Finding | undefined> {
    // Before the position is read: a write that is acknowledged in between lies behind it.
    const before = evidence;
    const server = await readServer(queries);
    if (server === undefined) return undefined;
    const isBehind =
      lastServer?.systemIdentifier === server.systemIdentifier && server.position < before.position;
    const missingWrites = await countMissingWrites(queries, before.writes, shards);
    return { server, evidence: before, missingWrites, isLost: isBehind || missingWrites > 0 };
  }

  const isUnchanged = ({ server, isLost }: Finding) =>
    lastServer !== undefined && isSameDatabase(lastServer, server) && !isLost;

  /** A server that was replaced may still accept connections. */
  function requireNewerTimeline({ systemIdentifier, timeline }: Server): void {
    if (lastServer?.systemIdentifier !== systemIdentifier || timeline >= lastServer.timeline)
      return;
    log.error(
      { timeline, knownTimeline: lastServer.timeline, file },
      'the database server is on an older timeline than before and is not used; stop it, or see the guide on restored databases',
    );
    throw Object.assign(new Error(`the database server is on the older timeline ${timeline}`), {
      code: cannotConnectNow,
    });
  }

  /** A restore that loads its tables one by one has created the table, and inserts the row later. */
  async function requireStoredTimeline(queries: Queries): Promise<StoredTimeline> {
    const row = await readStoredTimeline(queries);
    if (row !== undefined) return row;
    const error = Object.assign(
      new Error(
        `the table database_timeline has no row. If a restore is running, wait until it ends. If this is a new database, stop all processes and delete ${file}`,
      ),
      { code: cannotConnectNow },
    );
    if (!isRowMissing)
      log.error(
        { err: error },
        'new payments are refused until the table database_timeline has its row',
      );
    isRowMissing = true;
    throw error;
  }

  /** Each change increments the count of jumps, so an older reading is recognised. */
  function apply(row: StoredTimeline): void {
    isRowMissing = false;
    if (stored !== undefined && row.jumps < stored.jumps) return;
    const wasRequired = isRecoveryRequired();
    stored = row;
    // Until the recovery the evidence stays: the operator may restore again, from another backup.
    if (row.jumps !== evidence.jumps && !isRecoveryRequired()) {
      evidence = { jumps: row.jumps, position: 0n, writes: [] };
      isFileOutdated = true;
    }
    if (isRecoveryRequired() && !wasRequired) {
      log.error(
        { timeline: row.timeline },
        'new payments are refused until "switchyard admin recover-numbering" has run',
      );
    } else if (wasRequired && !isRecoveryRequired()) {
      log.info({ jumps: row.jumps }, 'the numbering was recovered: new payments are accepted');
    }
  }

  /** Decides about a changed database, and stores the decision for all processes. */
  async function decide(queries: Queries, finding: Finding): Promise<Decision> {
    const { server, isLost } = finding;
    const before = await readStoredTimeline(queries, { lock: true });
    if (before === undefined) {
      // A process that has run before would insert the row in the middle of a restore.
      if (lastServer === undefined) await insertStoredTimeline(queries, server);
      return { row: await requireStoredTimeline(queries) };
    }
    const isRecorded = isSameDatabase(before, server);
    // A process that was down during a recovery has evidence from before it.
    const isRecovered = finding.evidence.jumps < before.recoveredJumps;
    const isNewLoss = isLost && !isRecovered;
    // After a change of the database an equal count is too low as well: both copies would use the same numbers.
    const hasChanged = lastServer !== undefined && !isSameDatabase(lastServer, server);
    const mustIncreaseJumps = hasChanged
      ? before.jumps <= jumps()
      : isNewLoss && before.jumps < jumps();
    const isDecided = isRecorded && (!isNewLoss || before.recoveryRequiredAt !== null);
    if (isDecided && !mustIncreaseJumps) return { row: before };
    await storePostgresTimeline(queries, server, {
      jumps: Math.max(before.jumps, jumps()) + 1,
      isRecoveryRequired: isNewLoss,
    });
    await skipStoredNumbers(queries);
    const row = await requireStoredTimeline(queries);
    return { row, log: () => logChange(before, row, { ...finding, isLost: isNewLoss }) };
  }

  function logChange(before: StoredTimeline, after: StoredTimeline, finding: Finding): void {
    const facts = {
      timeline: after.timeline,
      previousTimeline: before.timeline,
      jumps: after.jumps,
      position: String(finding.server.position),
      acknowledgedPosition: String(finding.evidence.position),
      missingWrites: finding.missingWrites,
    };
    if (finding.isLost) {
      log.error(facts, 'the database went back in time: acknowledged payments are missing');
    } else if (lastServer === undefined) {
      log.warn(
        facts,
        'the database was restored or moved, and this process has no record of its last writes: numbers jumped, and lost payments cannot be detected; compare with the acquirer',
      );
    } else {
      log.warn(
        facts,
        'the database failed over, was restored or moved, and no acknowledged payment is missing: numbers jumped',
      );
    }
  }

  function accept({ server, evidence: checked, isLost }: Finding, row: StoredTimeline): void {
    const { position, ...identity } = server;
    if (lastServer !== undefined && !isSameDatabase(lastServer, server)) {
      availableAtMs = performance.now() + settlingMs;
    }
    lastServer = identity;
    latestPosition = position;
    if (row.recoveryRequiredAt === null) {
      evidence = {
        jumps: row.jumps,
        position: isLost ? 0n : evidence.position,
        // A write that was acknowledged during the comparison is compared at the next one.
        writes: evidence.writes.filter((write) => !isLost || !checked.writes.includes(write)),
      };
    }
    isFileOutdated = true;
    apply(row);
  }

  async function record(queries: Queries, finding: Finding): Promise<void> {
    await queries.query('BEGIN');
    let decision: Decision;
    try {
      decision = await decide(queries, finding);
      await queries.query('COMMIT');
    } catch (error) {
      await queries.query('ROLLBACK').catch(() => {});
      throw error;
    }
    decision.log?.();
    accept(finding, decision.row);
  }

  /** One at a time: the first one decides for all connections to the same server. */
  function recordExclusively(queries: Queries): Promise<void> {
    const compareAgain = async () => {
      const finding = await compare(queries);
      if (finding === undefined) return;
      requireNewerTimeline(finding.server);
      await record(queries, finding);
    };
    const recorded = lastRecord.then(compareAgain, compareAgain);
    lastRecord = recorded.catch(() => {});
    return recorded;
  }

  async function compareAndApply(from: Pick<Database, keyof Queries | 'session'>): Promise<void> {
    const finding = await compare(from);
    if (finding === undefined) return;
    if (isUnchanged(finding)) {
      latestPosition = finding.server.position;
      apply(await requireStoredTimeline(from));
    } else {
      // Behind a pooler, which changes the server without a new connection of this process.
      await from.session(recordExclusively);
    }
  }

  async function writeFile(): Promise<void> {
    if (!isFileOutdated || lastServer === undefined) return;
    isFileOutdated = false;
    try {
      await writeTimelineFile(file, { ...lastServer, ...evidence, jumps: jumps() });
      isFileFaultLogged = false;
    } catch (error) {
      isFileOutdated = true;
      if (!isFileFaultLogged)
        log.warn(
          { err: error, file },
          'the record of the last writes cannot be written, so the next start cannot detect a restored database; free the disk, or give this account access',
        );
      isFileFaultLogged = true;
    }
  }

  async function readFile(): Promise<void> {
    try {
      const record = await readTimelineFile(file);
      if (record === undefined) return;
      const { jumps: recordedJumps, position, writes, ...identity } = record;
      lastServer = identity;
      evidence = { jumps: recordedJumps, position, writes };
    } catch (error) {
      log.warn({ err: error, file }, 'the record of the last writes cannot be read and is ignored');
    }
  }

  async function refresh(): Promise<void> {
    if (database !== undefined) await compareAndApply(database);
  }

  const poller = createPoller({
    pollMs,
    async poll() {
      await refresh();
      await writeFile();
      return false;
    },
    onError: (error) => log.warn({ err: error }, 'the database timeline could not be read'),
  });

  return {
    numbering,
    async verifyConnection(queries) {
      const finding = await compare(queries);
      if (finding === undefined) return undefined;
      if (database === undefined) return serverName(finding.server);
      if (isUnchanged(finding)) apply(await requireStoredTimeline(queries));
      else await recordExclusively(queries);
      requireNewerTimeline(finding.server);
      return serverName(finding.server);
    },
    async start(from) {
      // Before connections are verified with writes, which then need the shards.
      shards = await from.shards();
      await readFile();
      await from.session(recordExclusively);
      database = from;
      if (isSupported !== true) return;
      await writeFile();
      poller.start();
    },
    async stop() {
      await poller.stop();
      await writeFile();
    },
    status: () => ({
      isRecoveryRequired: isRecoveryRequired(),
      timeline: lastServer?.timeline,
      jumps: jumps(),
    }),
    async recover(trx) {
      const row = await readStoredTimeline(trx, { lock: true });
      if (row === undefined || row.recoveryRequiredAt === null) return false;
      await endStoredRecovery(trx);
      await skipStoredNumbers(trx);
      return true;
    },
    refresh,
  };
}
