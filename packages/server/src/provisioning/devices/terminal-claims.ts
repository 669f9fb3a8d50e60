// Terminal claims: the first organisation that proves possession of a terminal gets the terminal.
// Later proofs of other organisations become conflicts, which the operator resolves.
import { hash } from 'node:crypto';
import {
  type ClaimConflict,
  type ClaimMethod,
  type ClaimSettlement,
  defined,
  formatTsn,
  type PhysicalDevice,
  throwProblem,
} from '@switchyard/contract';
import { type AuditEntry, type Author, actorOf, platformAuthor } from '../../audit/index.ts';
import {
  type Caller,
  type FoundPage,
  type PageRequest,
  readPage,
  type Versioned,
} from '../../http/index.ts';
import { hourMs, isoTime, isUuid, type Queries } from '../../platform/index.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import { throwNotFound } from '../resources/provisioning-errors.ts';
import type { ResourceDeps } from '../resources/resource-operations.ts';
import { createRowRepository, type Row } from '../resources/resource-sql.ts';
import { buildAuditEntry } from '../resources/row-and-audit-entry.ts';
import { physicalDevices } from '../resources/tables.ts';
import { parseDeviceName } from './find-device.ts';
import { physicalDeviceDefinition } from './physical-devices.ts';
import {
  type ClaimParty,
  checkClaimCode,
  countOpenConflicts,
  deleteClaimCode,
  findConflict,
  insertClaim,
  insertConflict,
  listConflicts,
  lockClaim,
  moveClaim,
  readTerminalIdentity,
  settleConflict,
  storeClaimCode,
  withdrawConflicts,
} from './terminal-claims-sql.ts';

/** A user reads the code from the terminal and enters it within this time. */
const claimCodeLifetimeMs = 15 * 60_000;
const claimCodeAttemptsMax = 5;
/**
 * For an organisation and all below it. The limit stops an attacker that imitates terminals to find
 * out which terminals other organisations have.
 */
const openConflictsMax = 20;
const retryAfterMs = hourMs;
/** Each retry means that the holder gave up the terminal between two statements. */
const claimTriesMax = 5;

/** The view of a terminal about itself. */
export type ClaimedTerminal = {
  readonly physicalDeviceId: string;
  readonly serialNumber: string;
  readonly isClaimed: boolean;
};

export type TerminalClaims = {
  /**
   * The manufacturer's certificate proves the terminal; undefined if the organisation has no such device.
   */
  claimByCertificate(organizationId: string, name: string): Promise<ClaimedTerminal | undefined>;
  /** A user of the organisation enters the code that the terminal has sent. */
  claimByCode(
    scope: CallerScope,
    physicalDeviceId: string,
    code: string,
  ): Promise<Versioned<PhysicalDevice>>;
  /** For terminals that the platform itself creates, such as those of the demo. */
  claimByOperator(organizationId: string, physicalDeviceId: string): Promise<void>;
  /** Stores the code that the terminal shows for the next minutes. */
  storeClaimCode(organizationId: string, physicalDeviceId: string, code: string): Promise<void>;
  readonly conflicts: {
    list(caller: Caller, page: PageRequest, status?: string): Promise<FoundPage<ClaimConflict>>;
    get(caller: Caller, conflictId: string): Promise<ClaimConflict>;
    settle(
      request: { readonly caller: Caller; readonly id: string },
      conflictId: string,
      decision: ClaimSettlement['decision'],
    ): Promise<ClaimConflict>;
  };
};

type ClaimDeps = ResourceDeps & {
  /** True for the organisation of the platform itself. */
  readonly isOperator: (organizationId: string) => Promise<boolean>;
};

type ClaimResult = {
  readonly isClaimed: boolean;
  /** The party that has lost the claim. */
  readonly loser?: ClaimParty;
};

const hashClaimCode = (physicalDeviceId: string, code: string): Buffer =>
  hash('sha256', `${physicalDeviceId}:${code.replace('-', '').toUpperCase()}`, 'buffer');

function readClaimParty(row: Row, side: 'holder' | 'claimant') {
  return {
    organizationId: String(row[`${side}_organization_id`]),
    physicalDeviceId: String(row[`${side}_physical_device_id`]),
    method: row[`${side}_method`] as ClaimMethod,
  };
}

const toIsoTime = (at: unknown): string => isoTime((at as Date).getTime());

function toClaimConflict(row: Row): ClaimConflict {
  const identity = readTerminalIdentity(row);
  const side = (name: 'holder' | 'claimant') => ({
    ...readClaimParty(row, name),
    ...defined({ organizationName: (row[`${name}_name`] ?? undefined) as string | undefined }),
  });
  return {
    conflictId: String(row['conflict_id']),
    tsn: formatTsn(identity),
    ...identity,
    status: row['status'] as ClaimConflict['status'],
    ...defined({
      decision: (row['decision'] ?? undefined) as ClaimConflict['decision'],
      settledAt: row['settled_at'] === null ? undefined : toIsoTime(row['settled_at']),
    }),
    holder: side('holder'),
    claimant: side('claimant'),
    createdAt: toIsoTime(row['created_at']),
  };
}

const throwConflictNotFound = () =>
  throwProblem('resource_not_found', 'No conflict that you may see has this identifier.');

/** The audit of an organisation does not name the other organisation. */
function buildMoveAuditEntry(
  { organizationId, physicalDeviceId, method }: ClaimParty,
  auditVerb: 'claimed' | 'claimEnded',
  author: Author = platformAuthor,
): AuditEntry {
  const facts = [{ claimStatus: 'Unclaimed' }, { claimStatus: 'Claimed', claimMethod: method }];
  const [before, after] = auditVerb === 'claimed' ? facts : facts.reverse();
  return {
    ...author,
    organizationId,
    action: `physicalDevice.${auditVerb}`,
    entity: { type: 'physicalDevice', id: physicalDeviceId },
    ...defined({ before, after }),
  };
}

/** @example const claims = createTerminalClaims(deps); await claims.claimByCode(scope, physicalDeviceId, 'K7QM-2F9X'); */
export function createTerminalClaims(deps: ClaimDeps): TerminalClaims {
  const { database, clock, ids, audit, onWrite, isOperator } = deps;
  const records = createRowRepository(physicalDevices);
  const now = () => isoTime(clock.now());

  /** Writes entries in the order of the organisations, so that two transactions cannot deadlock. */
  async function recordAuditEntries(trx: Queries, entries: readonly AuditEntry[]): Promise<void> {
    const sorted = entries.toSorted((one, other) =>
      one.organizationId < other.organizationId ? -1 : 1,
    );
    for (const entry of sorted) await audit.record(trx, entry);
  }

  /** A certificate replaces a claim by code; every other second proof is a conflict. */
  async function claimOrRecordConflict(
    queries: Queries,
    row: Row,
    method: ClaimMethod,
  ): Promise<ClaimResult> {
    const identity = readTerminalIdentity(row);
    const claimant: ClaimParty = {
      organizationId: String(row['organization_id']),
      physicalDeviceId: String(row['physical_device_id']),
      method,
    };
    for (let tries = 0; tries < claimTriesMax; tries += 1) {
      if (await insertClaim(queries, identity, claimant, now())) {
        await withdrawConflicts(queries, claimant);
        return { isClaimed: true };
      }
      const holder = await lockClaim(queries, identity);
      if (holder === undefined) continue;
      const isHeldByClaimant =
        holder.organizationId === claimant.organizationId &&
        holder.physicalDeviceId === claimant.physicalDeviceId;
      const isStronger = method === 'Certificate' && holder.method === 'Code';
      if (isHeldByClaimant || isStronger) {
        if (isStronger) await moveClaim(queries, identity, claimant, now());
        if (isHeldByClaimant) return { isClaimed: true };
        await withdrawConflicts(queries, claimant);
        await insertConflict(
          queries,
          ids.uuid(),
          identity,
          { holder: claimant, claimant: holder },
          now(),
        );
        return { isClaimed: true, loser: holder };
      }
      await insertConflict(queries, ids.uuid(), identity, { holder, claimant }, now());
      return { isClaimed: false };
    }
    throw new Error('the claim of a terminal changed too often');
  }

  /**
   * Returns the device with its new version, and writes the audit entries of both organisations.
   */
  async function recordClaim(
    trx: Queries,
    scope: CallerScope,
    before: Row,
    { loser }: ClaimResult,
  ): Promise<Row> {
    const id = String(before['physical_device_id']);
    const after = await records.replace(trx, scope.organizationId, id, { updated_at: now() });
    await deleteClaimCode(trx, { organizationId: scope.organizationId, physicalDeviceId: id });
    await recordAuditEntries(trx, [
      buildAuditEntry(physicalDeviceDefinition, scope, 'claimed', { before, after }),
      ...(loser === undefined ? [] : [buildMoveAuditEntry(loser, 'claimEnded')]),
    ]);
    return after;
  }

  const notifyClaimChange = (organizationId: string, { loser }: ClaimResult) => {
    onWrite(organizationId);
    if (loser !== undefined) onWrite(loser.organizationId);
  };

  async function claimTerminal(
    organizationId: string,
    find: (queries: Queries) => Promise<Row | undefined>,
    method: ClaimMethod,
  ): Promise<ClaimedTerminal | undefined> {
    const scope = { organizationId };
    const claimed = await database.transaction(async (trx) => {
      const row = await find(trx);
      if (row === undefined) return undefined;
      const claim = row['claim'] as { method: string } | null;
      const proof = await claimOrRecordConflict(trx, row, method);
      if (proof.isClaimed && claim?.method !== method) await recordClaim(trx, scope, row, proof);
      return { row, proof };
    });
    if (claimed === undefined) return undefined;
    notifyClaimChange(organizationId, claimed.proof);
    return {
      physicalDeviceId: String(claimed.row['physical_device_id']),
      serialNumber: String(claimed.row['serial_number']),
      isClaimed: claimed.proof.isClaimed,
    };
  }

  async function requireOperator({ organizationId, entityType }: Caller): Promise<void> {
    if (entityType !== 'tenant' || !(await isOperator(organizationId))) throwConflictNotFound();
  }

  async function transferClaim(queries: Queries, row: Row): Promise<AuditEntry[]> {
    const identity = readTerminalIdentity(row);
    const claimant = readClaimParty(row, 'claimant');
    const holder = await lockClaim(queries, identity);
    if (holder === undefined) await insertClaim(queries, identity, claimant, now());
    else await moveClaim(queries, identity, claimant, now());
    const gained = buildMoveAuditEntry(claimant, 'claimed');
    return holder === undefined ? [gained] : [buildMoveAuditEntry(holder, 'claimEnded'), gained];
  }

  return {
    claimByCertificate: async (organizationId, name) => {
      const { serialNumber, makeAndModel } = parseDeviceName(name) ?? {};
      if (serialNumber === undefined) return undefined;
      const find = async (queries: Queries) => {
        const [row] = await queries.query(
          `SELECT ${records.selected} FROM physical_devices
           WHERE organization_id = $1 AND serial_number = $2 AND removed_at IS NULL
             AND make || '_' || model = coalesce($3, make || '_' || model) FOR UPDATE`,
          [organizationId, serialNumber, makeAndModel ?? null],
        );
        return row;
      };
      return claimTerminal(organizationId, find, 'Certificate');
    },

    async claimByOperator(organizationId, physicalDeviceId) {
      const find = (queries: Queries) =>
        records.find(queries, { organizationId }, physicalDeviceId, 'update');
      await claimTerminal(organizationId, find, 'Operator');
    },

    async claimByCode(scope, physicalDeviceId, code) {
      const { organizationId } = scope;
      const device = { organizationId, physicalDeviceId };
      const claimed = await database.transaction(async (trx) => {
        const openConflicts = await countOpenConflicts(trx, organizationId);
        const row = isUuid(physicalDeviceId)
          ? await records.find(trx, scope, physicalDeviceId, 'update')
          : undefined;
        if (row === undefined) return throwNotFound('device_not_found');
        if (row['claim'] !== null) return { row, proof: { isClaimed: true } };
        if (openConflicts >= openConflictsMax) {
          throwProblem(
            'rate_limited',
            `${openConflictsMax} terminals of your organisation wait for a decision of the operator; ask the operator before you enter more claim codes.`,
            { retryAfterMs },
          );
        }
        const limits = { now: now(), attemptsMax: claimCodeAttemptsMax };
        const matches = await checkClaimCode(
          trx,
          device,
          hashClaimCode(physicalDeviceId, code),
          limits,
        );
        const proof = matches
          ? await claimOrRecordConflict(trx, row, 'Code')
          : { isClaimed: false };
        if (proof.isClaimed) return { row: await recordClaim(trx, scope, row, proof), proof };
        await audit.record(
          trx,
          buildAuditEntry(physicalDeviceDefinition, scope, 'claimRefused', {
            before: row,
            after: row,
          }),
        );
        return undefined;
      });
      // The same text for each reason, so that it reveals nothing about other organisations.
      if (claimed === undefined) {
        return throwProblem(
          'claim_code_invalid',
          'The claim code is not valid. Display a new code on the terminal and enter it. If the new code is not valid either, contact the operator of the platform.',
          {
            errors: [
              { pointer: '/claimCode', code: 'claim_code_invalid', detail: 'is not accepted' },
            ],
          },
        );
      }
      notifyClaimChange(organizationId, claimed.proof);
      return {
        view: physicalDeviceDefinition.toView(claimed.row),
        version: Number(claimed.row['version']),
      };
    },

    async storeClaimCode(organizationId, physicalDeviceId, code) {
      await storeClaimCode(
        database,
        { organizationId, physicalDeviceId },
        hashClaimCode(physicalDeviceId, code),
        isoTime(clock.now() + claimCodeLifetimeMs),
      );
    },

    conflicts: {
      async list({ organizationId, entityType }, page, status) {
        if (entityType !== 'tenant' || !(await isOperator(organizationId))) return { items: [] };
        return readPage(
          page,
          (read) => listConflicts(database, { ...read, status }),
          (row) => String(row['conflict_id']),
          toClaimConflict,
        );
      },

      async get(caller, conflictId) {
        await requireOperator(caller);
        const row = isUuid(conflictId) ? await findConflict(database, conflictId) : undefined;
        return row === undefined ? throwConflictNotFound() : toClaimConflict(row);
      },

      async settle({ caller, id }, conflictId, decision) {
        await requireOperator(caller);
        if (!isUuid(conflictId)) throwConflictNotFound();
        const { after, changed } = await database.transaction(async (trx) => {
          // Locks the claim before the conflict, in the same order as a concurrent proof.
          const unlocked = (await findConflict(trx, conflictId)) ?? throwConflictNotFound();
          await lockClaim(trx, readTerminalIdentity(unlocked));
          const before =
            (await findConflict(trx, conflictId, 'FOR UPDATE OF c')) ?? throwConflictNotFound();
          if (before['decision'] === decision) return { after: before, changed: [] };
          if (before['status'] !== 'Open') {
            throwProblem(
              'concurrent_modification',
              `The conflict is already ${String(before['status'])}; read it again.`,
            );
          }
          const moves = decision === 'GiveToClaimant' ? await transferClaim(trx, before) : [];
          await settleConflict(trx, conflictId, decision, now());
          const settled = (await findConflict(trx, conflictId)) ?? throwConflictNotFound();
          await recordAuditEntries(trx, [
            ...moves,
            {
              ...actorOf(caller, id),
              organizationId: caller.organizationId,
              action: 'claimConflict.settled',
              entity: { type: 'claimConflict', id: conflictId },
              before: toClaimConflict(before),
              after: toClaimConflict(settled),
            },
          ]);
          return { after: settled, changed: moves.map((move) => move.organizationId) };
        });
        for (const organizationId of changed) onWrite(organizationId);
        return toClaimConflict(after);
      },
    },
  };
}
