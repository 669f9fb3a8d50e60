/** Verifies the chain of the audit without the platform: records, checkpoints and keys are enough. */
import { auditCheckpointText, auditGenesis, auditRecordText } from './audit-chain.ts';
import type { AuditCheckpoint, AuditKey, AuditRecord } from './schemas/audit.ts';

/**
 * What can be wrong with a chain.
 *
 * - `record_changed`: the hash is not the hash of the record.
 * - `record_missing`: sequences are left out, and the next record does not name the hash of the one before.
 * - `record_misplaced`: a record stands out of order, or twice.
 * - `link_broken`: the record names another hash than the one before it has.
 * - `time_reversed`: the record is older than the one before it.
 * - `organization_mixed`: the record belongs to another organisation.
 * - `checkpoint_contradicted`: the record is not the one that was signed: the chain was rewritten.
 * - `records_truncated`: a checkpoint was signed, or an end is known, behind the last record.
 * - `signature_invalid`, `key_unknown`: the checkpoint proves nothing.
 *
 * @example
 * const code: ChainFaultCode = 'record_missing';
 */
export type ChainFaultCode =
  | 'record_changed'
  | 'record_missing'
  | 'record_misplaced'
  | 'link_broken'
  | 'time_reversed'
  | 'organization_mixed'
  | 'checkpoint_contradicted'
  | 'records_truncated'
  | 'signature_invalid'
  | 'key_unknown';

/**
 * One fault of a chain, at the sequence where it shows.
 *
 * @example
 * for (const { sequence, code, detail } of report.faults) console.error(sequence, code, detail);
 */
export type ChainFault = {
  readonly sequence: number;
  readonly code: ChainFaultCode;
  readonly detail: string;
};

/**
 * What a verification found.
 *
 * @example
 * if (!report.ok) process.exitCode = 1;
 */
export type ChainReport = {
  readonly ok: boolean;
  readonly records: number;
  readonly firstSequence: number | undefined;
  readonly lastSequence: number | undefined;
  /** Of the last record; to be noted elsewhere, and compared the next time. */
  readonly lastHash: string | undefined;
  /** Checkpoints with a good signature that fit their records. */
  readonly checkpoints: number;
  /** Records behind the last such checkpoint: their hashes fit, and nothing signed says so yet. */
  readonly unsignedRecords: number;
  /** The first hundred. */
  readonly faults: readonly ChainFault[];
  readonly faultCount: number;
};

/**
 * Which part of a chain is at hand; left out: all of it, from 1.
 *
 * @example
 * const part: ChainPart = { firstSequence: 501, previousHash: noted.hash };
 */
export type ChainPart = {
  readonly firstSequence?: number;
  /** The hash before the first record, where an earlier verification noted it. */
  readonly previousHash?: string;
  /** The last record that must be there. */
  readonly lastSequence?: number;
};

const faultsMax = 100;
const encoder = new TextEncoder();

async function sha256(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

async function isSigned(checkpoint: AuditCheckpoint, { kty, crv, x }: AuditKey): Promise<boolean> {
  const key = await crypto.subtle.importKey('jwk', { kty, crv, x }, 'Ed25519', false, ['verify']);
  const text = encoder.encode(auditCheckpointText(checkpoint));
  return crypto.subtle.verify('Ed25519', key, bytesOf(checkpoint.signature), text);
}

type Note = (sequence: number, code: ChainFaultCode, detail: string) => void;

function createNotes() {
  const faults: ChainFault[] = [];
  let faultCount = 0;
  const note: Note = (sequence, code, detail) => {
    faultCount += 1;
    if (faults.length < faultsMax) faults.push({ sequence, code, detail });
  };
  return { faults, note, count: () => faultCount };
}

/** The checkpoints that prove something, by their sequence. */
async function provenOf(
  checkpoints: readonly AuditCheckpoint[],
  keys: readonly AuditKey[],
  note: Note,
): Promise<Map<number, AuditCheckpoint>> {
  const proven = new Map<number, AuditCheckpoint>();
  for (const checkpoint of checkpoints) {
    const { sequence, keyId } = checkpoint;
    const key = keys.find(({ kid }) => kid === keyId);
    if (key === undefined) note(sequence, 'key_unknown', `no key ${keyId} is at hand`);
    else if (await isSigned(checkpoint, key)) proven.set(sequence, checkpoint);
    else note(sequence, 'signature_invalid', `the checkpoint is not signed by ${keyId}`);
  }
  return proven;
}

/** Judges each record by the one before it. */
function createWalk(part: ChainPart, note: Note) {
  const { firstSequence = 1 } = part;
  let expected = firstSequence;
  let last: AuditRecord | undefined;
  /** The hash that the next record must name, where it is known. */
  let previousHash = part.previousHash ?? (firstSequence === 1 ? auditGenesis : undefined);

  async function step(record: AuditRecord): Promise<void> {
    const { sequence } = record;
    if (sequence < expected) {
      note(sequence, 'record_misplaced', `${expected} should come here`);
      return;
    }
    // The hash of the record before proves that no record was removed: the platform left the numbers out.
    const isContinued = previousHash !== undefined && record.previousHash === previousHash;
    if (sequence > expected && !isContinued) {
      const missing = sequence - 1 === expected ? `${expected}` : `${expected} to ${sequence - 1}`;
      note(expected, 'record_missing', `${missing} left out`);
      previousHash = undefined;
    }
    if (previousHash !== undefined && record.previousHash !== previousHash) {
      note(sequence, 'link_broken', 'previousHash is not the hash of the record before');
    }
    if ((await sha256(auditRecordText(record))) !== record.hash) {
      note(sequence, 'record_changed', 'the hash is not the hash of the record');
    }
    if (last !== undefined && record.organizationId !== last.organizationId) {
      note(sequence, 'organization_mixed', `belongs to ${record.organizationId}`);
    }
    if (last !== undefined && Date.parse(record.at) < Date.parse(last.at)) {
      note(sequence, 'time_reversed', 'is older than the record before');
    }
    expected = sequence + 1;
    previousHash = record.hash;
    last = record;
  }
  return { step, last: () => last, expected: () => expected };
}

/**
 * Verifies records in the order of their sequences against their own hashes, against each other and
 * against signed checkpoints. Needs no platform and no network; reads the records one by one, so
 * that a chain of any length fits in little memory.
 *
 * @param records - the export, line by line
 * @param checkpoints - the checkpoints of the same organisation; such as were kept elsewhere weigh most
 * @param keys - the public keys of the platform
 * @param part - which part of the chain it is
 * @returns what was found; it never throws for a bad chain
 * @example
 * const report = await verifyChain(records, checkpoints, keys);
 * report.ok; // true: nothing was changed, removed, reordered or cut off
 */
export async function verifyChain(
  records: Iterable<AuditRecord> | AsyncIterable<AuditRecord>,
  checkpoints: readonly AuditCheckpoint[],
  keys: readonly AuditKey[],
  part: ChainPart = {},
): Promise<ChainReport> {
  const { faults, note, count } = createNotes();
  const proven = await provenOf(checkpoints, keys, note);
  const walk = createWalk(part, note);
  let total = 0;
  let first: number | undefined;
  let unsignedRecords = 0;
  let fitting = 0;
  for await (const record of records) {
    total += 1;
    unsignedRecords += 1;
    first ??= record.sequence;
    await walk.step(record);
    const checkpoint = proven.get(record.sequence);
    if (checkpoint === undefined) continue;
    const { hash, organizationId } = checkpoint;
    if (hash === record.hash && organizationId === record.organizationId) {
      fitting += 1;
      unsignedRecords = 0;
    } else {
      note(record.sequence, 'checkpoint_contradicted', 'another record was signed here');
    }
  }
  const last = walk.last();
  const end = Math.min(
    Math.max(part.lastSequence ?? 0, ...proven.keys()),
    part.lastSequence ?? Number.POSITIVE_INFINITY,
  );
  if (end >= walk.expected()) {
    note(walk.expected(), 'records_truncated', `the chain went on to ${end} at least`);
  }
  return {
    ok: count() === 0,
    records: total,
    firstSequence: first,
    lastSequence: last?.sequence,
    lastHash: last?.hash,
    checkpoints: fitting,
    unsignedRecords,
    faults,
    faultCount: count(),
  };
}
