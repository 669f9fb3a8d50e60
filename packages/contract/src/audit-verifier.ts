/** Verifies the audit chain without the platform, from records, checkpoints and keys. */
import { auditCheckpointText, auditGenesis, auditRecordText } from './audit-chain.ts';
import type { AuditCheckpoint, AuditKey, AuditRecord } from './schemas/platform/audit.ts';

/**
 * The faults of a chain.
 *
 * - `record_changed`: the hash does not match the record.
 * - `record_missing`: sequences are missing, and the next record does not have the previous hash.
 * - `record_misplaced`: a record is out of order or repeated.
 * - `link_broken`: the record's previous hash is not the hash of the record before.
 * - `time_reversed`: the record is older than the one before it.
 * - `organization_mixed`: the record belongs to another organisation.
 * - `checkpoint_contradicted`: the record is not the signed one: the chain was rewritten.
 * - `records_truncated`: a signed checkpoint or the known end is after the last record.
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
 * One fault of a chain, with the sequence at which it was found.
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
 * The result of a verification.
 *
 * @example
 * if (!report.ok) process.exitCode = 1;
 */
export type ChainReport = {
  readonly ok: boolean;
  readonly records: number;
  readonly firstSequence: number | undefined;
  readonly lastSequence: number | undefined;
  /** The hash of the last record. Store it elsewhere and compare it at the next verification. */
  readonly lastHash: string | undefined;
  /** The number of checkpoints with a valid signature that match their records. */
  readonly checkpoints: number;
  /**
   * The number of records after the last valid checkpoint: their hashes match but are not signed.
   */
  readonly unsignedRecords: number;
  /** The first hundred faults. */
  readonly faults: readonly ChainFault[];
  readonly faultCount: number;
};

/**
 * Which part of a chain is verified; default: all of it, from sequence 1.
 *
 * @example
 * const part: ChainPart = { firstSequence: 501, previousHash: noted.hash };
 */
export type ChainPart = {
  readonly firstSequence?: number;
  /** The hash before the first record, if an earlier verification stored it. */
  readonly previousHash?: string;
  /** The sequence of the last record that must exist. */
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

/** The checkpoints with a valid signature, by sequence. */
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

/** Compares each record with the one before it. */
function createWalk(part: ChainPart, note: Note) {
  const { firstSequence = 1 } = part;
  let expected = firstSequence;
  let last: AuditRecord | undefined;
  /** The expected previous hash of the next record, if it is known. */
  let previousHash = part.previousHash ?? (firstSequence === 1 ? auditGenesis : undefined);

  async function step(record: AuditRecord): Promise<void> {
    const { sequence } = record;
    if (sequence < expected) {
      note(sequence, 'record_misplaced', `${expected} should come here`);
      return;
    }
    // With a matching previous hash no record was removed; the platform skipped the numbers.
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
 * Verifies records in the order of their sequences: against their own hashes, against each other
 * and against signed checkpoints. It needs no platform and no network. It reads the records one by
 * one, so a long chain needs little memory.
 *
 * @param records - the export, line by line
 * @param checkpoints - the checkpoints of the same organisation; copies stored elsewhere prove most
 * @param keys - the public keys of the platform
 * @param part - the part of the chain
 * @returns the report; it never throws because of a faulty chain
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
