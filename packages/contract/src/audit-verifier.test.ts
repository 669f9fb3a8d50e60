import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, randomInt, sign } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  auditCheckpointText,
  auditGenesis,
  auditRecordText,
  canonicalJson,
} from './audit-chain.ts';
import { type ChainPart, verifyChain } from './audit-verifier.ts';
import type { AuditCheckpoint, AuditKey, AuditRecord } from './schemas/platform/audit.ts';

const organizationId = '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11';
const startsAt = Date.parse('2026-03-01T12:00:00.000Z');

/** Makes a chain like the platform's; each record is one second later. */
/** @param jumpAfter the record after which the sequence skips 100,000 numbers */
function chainOf(count: number, jumpAfter = count): AuditRecord[] {
  const records: AuditRecord[] = [];
  for (let number = 1; number <= count; number += 1) {
    const sequence = number > jumpAfter ? number + 100_000 : number;
    const content = {
      organizationId,
      sequence,
      at: new Date(startsAt + sequence * 1000).toISOString(),
      actor: { subject: 's', clientId: 'c', kind: 'User' as const },
      action: 'store.updated',
      entity: { type: 'store', id: `store-${sequence}` },
      before: { name: 'Old', labels: { b: '2', a: '1' } },
      after: { name: `New ${sequence}` },
      previousHash: records.at(-1)?.hash ?? auditGenesis,
    };
    records.push(hashed(content));
  }
  return records;
}

function hashed(content: Omit<AuditRecord, 'hash'>): AuditRecord {
  return { ...content, hash: createHash('sha256').update(auditRecordText(content)).digest('hex') };
}

/** An attacker with the database can compute a new chain that is consistent in itself. */
function rewritten(records: AuditRecord[], at: number, change: Partial<AuditRecord>) {
  const made: AuditRecord[] = [];
  for (const record of records) {
    const changedRecord = record.sequence === at ? { ...record, ...change } : record;
    made.push(hashed({ ...changedRecord, previousHash: made.at(-1)?.hash ?? auditGenesis }));
  }
  return made;
}

const pair = generateKeyPairSync('ed25519');
const key: AuditKey = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: String(pair.publicKey.export({ format: 'jwk' }).x),
  kid: 'one',
  alg: 'EdDSA',
  use: 'sig',
};

function signed({ sequence, hash, at }: AuditRecord, keyId = 'one'): AuditCheckpoint {
  const content = { organizationId, sequence, hash, at, keyId };
  const text = Buffer.from(auditCheckpointText(content));
  return { ...content, signature: sign(null, text, pair.privateKey).toString('base64url') };
}

const at = (records: AuditRecord[], sequence: number): AuditRecord => {
  const record = records[sequence - 1];
  assert.ok(record);
  return record;
};

async function codes(records: AuditRecord[], checkpoints: AuditCheckpoint[], part?: ChainPart) {
  const { ok, faults, faultCount } = await verifyChain(records, checkpoints, [key], part);
  assert.equal(ok, faultCount === 0);
  return faults.map(({ sequence, code }) => `${sequence} ${code}`);
}

describe('the chain of the audit', () => {
  const chain = chainOf(20);
  const checkpoints = [signed(at(chain, 10)), signed(at(chain, 18))];

  test('verifies the chain and returns the number of signed records', async () => {
    assert.deepEqual(await verifyChain(chain, checkpoints, [key]), {
      ok: true,
      records: 20,
      firstSequence: 1,
      lastSequence: 20,
      lastHash: at(chain, 20).hash,
      checkpoints: 2,
      unsignedRecords: 2,
      faults: [],
      faultCount: 0,
    });
  });

  test('any changed member of any record is found', async () => {
    const sequence = randomInt(1, 21);
    const changes: Partial<AuditRecord>[] = [
      { at: new Date(startsAt + sequence * 1000 + 1).toISOString() },
      { action: 'store.removed' },
      { actor: { subject: 'other', clientId: 'c', kind: 'User' } },
      { entity: { type: 'store', id: 'another' } },
      { after: { name: 'Newer' } },
      { requestId: 'r' },
      { previousHash: 'f'.repeat(64) },
    ];
    for (const change of changes) {
      const changed = chain.with(sequence - 1, { ...at(chain, sequence), ...change });
      const foundCodes = await codes(changed, checkpoints);
      assert.ok(
        foundCodes.includes(`${sequence} record_changed`),
        `${sequence} ${Object.keys(change)}`,
      );
    }
  });

  test('a changed record with a hash of its own breaks the link', async () => {
    const forged = hashed({ ...at(chain, 5), action: 'store.removed' });
    assert.deepEqual(await codes(chain.with(4, forged), checkpoints), ['6 link_broken']);
  });

  test('a chain that was rewritten from one record on contradicts its signed checkpoints', async () => {
    const foundCodes = await codes(rewritten(chain, 5, { action: 'store.removed' }), checkpoints);
    assert.deepEqual(foundCodes, ['10 checkpoint_contradicted', '18 checkpoint_contradicted']);
  });

  test('removed, exchanged and repeated records are found', async () => {
    assert.deepEqual(await codes(chain.toSpliced(6, 1), checkpoints), ['7 record_missing']);
    const exchanged = chain.with(6, at(chain, 8)).with(7, at(chain, 7));
    const foundCodes = await codes(exchanged, checkpoints);
    assert.deepEqual(foundCodes, ['7 record_missing', '7 record_misplaced']);
    const repeated = chain.toSpliced(6, 0, at(chain, 6));
    assert.deepEqual(await codes(repeated, checkpoints), ['6 record_misplaced']);
  });

  test('numbers that the platform left out are not missing records: the hashes continue', async () => {
    const later = chainOf(22, 18).slice(18);
    const jumped = [...chain.slice(0, 18), ...later];
    assert.deepEqual(jumped.at(-1)?.sequence, 100_022);
    const signedLater = [...checkpoints, signed(at(jumped, 22))];
    const { ok, unsignedRecords } = await verifyChain(jumped, checkpoints, [key]);
    assert.deepEqual({ ok, unsignedRecords }, { ok: true, unsignedRecords: 4 });
    assert.deepEqual(await codes(jumped, signedLater), []);
    const cut = jumped.toSpliced(17, 1);
    assert.deepEqual(await codes(cut, signedLater), ['18 record_missing']);
  });

  test('a chain that was cut off behind a checkpoint is found, and one without any record', async () => {
    assert.deepEqual(await codes(chain.slice(0, 17), checkpoints), ['18 records_truncated']);
    assert.deepEqual(await codes([], checkpoints), ['1 records_truncated']);
    const expectedHead = { lastSequence: 20 };
    assert.deepEqual(await codes(chain.slice(0, 19), checkpoints, expectedHead), [
      '20 records_truncated',
    ]);
  });

  test('records and checkpoints of another organisation do not pass', async () => {
    const foreign = hashed({ ...at(chain, 20), organizationId: organizationId.replace('0', '1') });
    assert.deepEqual(await codes(chain.with(19, foreign), checkpoints), ['20 organization_mixed']);
  });

  test('a checkpoint counts only with a good signature of a known key', async () => {
    const forged = { ...signed(at(chain, 10)), hash: at(chain, 11).hash };
    assert.deepEqual(await codes(chain, [forged]), ['10 signature_invalid']);
    assert.deepEqual(await codes(chain, [signed(at(chain, 10), 'two')]), ['10 key_unknown']);
    const report = await verifyChain(chain, [forged], [key]);
    assert.equal(report.unsignedRecords, 20);
  });

  test('a part of the chain is valid only with the hash of the record before it', async () => {
    const part = chain.slice(5, 12);
    const noted = { firstSequence: 6, previousHash: at(chain, 5).hash, lastSequence: 12 };
    assert.deepEqual(await codes(part, checkpoints, noted), []);
    assert.deepEqual(await codes(part, checkpoints), ['1 record_missing', '13 records_truncated']);
    const other = { ...noted, previousHash: at(chain, 4).hash };
    assert.deepEqual(await codes(part, checkpoints, other), ['6 link_broken']);
  });

  test('the report has a limited number of faults', async () => {
    const broken = chainOf(150).map((record) => ({ ...record, action: 'x' }));
    const report = await verifyChain(broken, [], [key]);
    assert.deepEqual([report.faults.length, report.faultCount], [100, 150]);
  });
});

test('canonical JSON sorts members and omits undefined values', () => {
  assert.equal(
    canonicalJson({ b: [1, { d: null, c: 'é"' }], a: undefined, A: true }),
    '{"A":true,"b":[1,{"c":"é\\"","d":null}]}',
  );
});
