import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { type Numbering, systemClock, unguardedNumbering } from '../../platform/index.ts';
import { createReferenceAllocator } from './reference-allocator.ts';

type Reference = { terminalId: string; stan: string; rrn: string };

const spell = ({ terminalId, stan }: Reference) => `${terminalId} ${stan}`;

/** Uses a new contract, so that tests do not share terminals. */
async function setUp({
  processes = 1,
  to = 'TERM9999',
  numbering = unguardedNumbering,
}: {
  processes?: number;
  to?: string;
  numbering?: Numbering;
} = {}) {
  const database = await testDatabase();
  const contract = { organizationId: randomUUID(), contractId: randomUUID(), linkId: randomUUID() };
  const rest = { range: { from: 'TERM0001', to }, kind: 'Sale', timeZone: 'UTC' } as const;
  const all = Array.from({ length: processes }, () =>
    createReferenceAllocator({
      database,
      clock: systemClock,
      numbering,
      findNumberFormats: () => undefined,
    }),
  );
  const next = (holderId: string, process = 0) => {
    const references = all[process % processes];
    assert.ok(references);
    return references.allocate({ ...contract, ...rest, terminalOwnerId: holderId });
  };
  return { next };
}

describe('reference allocator', () => {
  test('concurrent calls in two processes never return the same trace number', async () => {
    const { next } = await setUp({ processes: 2 });
    const holderId = randomUUID();
    const spelled = new Set<string>();
    for (let round = 0; round < 3; round += 1) {
      const allocations = Array.from({ length: 450 }, (_, index) => next(holderId, index));
      for (const reference of await Promise.all(allocations)) spelled.add(spell(reference));
    }
    assert.equal(spelled.size, 3 * 450);
  });

  test('two terminals of a link never have the same retrieval reference number in one hour', async () => {
    const { next } = await setUp({ processes: 2 });
    const holders = Array.from({ length: 5 }, () => randomUUID());
    const references = await Promise.all(
      Array.from({ length: 2500 }, (_, index) => next(holders[index % 5] ?? '', index)),
    );
    assert.equal(new Set(references.map(({ rrn }) => rrn)).size, 2500);
    assert.ok(new Set(references.map(({ stan }) => stan)).size <= 1000);
  });

  test('sequential calls in one process skip no trace number', async () => {
    const { next } = await setUp();
    const holderId = randomUUID();
    for (let trace = 1; trace <= 350; trace += 1) {
      const { stan, terminalId } = await next(holderId);
      assert.equal(stan, String(trace).padStart(6, '0'));
      assert.equal(terminalId, 'TERM0001');
    }
  });

  test('a prefetched block is used after another process reserved the block between', async () => {
    const { next } = await setUp({ processes: 2 });
    const holderId = randomUUID();
    await next(holderId);
    await next(holderId, 1);
    const stans: number[] = [];
    for (let count = 0; count < 199; count += 1) stans.push(Number((await next(holderId)).stan));
    const expected = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => from + index);
    assert.deepEqual(stans, [...expected(2, 100), ...expected(201, 300)]);
  });

  // Spec: PROV-61
  test('concurrent new devices each receive a separate terminal id', async () => {
    const { next } = await setUp({ processes: 2 });
    const holders = Array.from({ length: 300 }, () => randomUUID());
    const references = await Promise.all(holders.map((holderId, index) => next(holderId, index)));
    assert.equal(new Set(references.map(({ terminalId }) => terminalId)).size, 300);
    // A device keeps its terminal id in all processes.
    const again = await Promise.all(holders.map((holderId, index) => next(holderId, index + 1)));
    assert.deepEqual(
      again.map(({ terminalId }) => terminalId),
      references.map(({ terminalId }) => terminalId),
    );
  });

  test('an exhausted range rejects new devices and serves existing ones', async () => {
    const { next } = await setUp({ to: 'TERM0003' });
    const holders = Array.from({ length: 4 }, () => randomUUID());
    const allocations = await Promise.allSettled(holders.map((holderId) => next(holderId)));
    const refused = holders.filter((_, index) => allocations[index]?.status === 'rejected');
    assert.equal(refused.length, 1, 'the last claim fails');
    await assert.rejects(
      next(refused[0] ?? ''),
      (error) => error instanceof ProblemError && error.code === 'terminal_range_exhausted',
    );
    await next(holders.find((holder) => holder !== refused[0]) ?? '');
  });

  test('a jump drops the reserved block and continues 381,967 later', async () => {
    let jumps = 0;
    const { next } = await setUp({ numbering: { ...unguardedNumbering, jumps: () => jumps } });
    const holderId = randomUUID();
    assert.equal((await next(holderId)).stan, '000001');
    jumps = 1;
    assert.equal((await next(holderId)).stan, '382068');
    assert.equal((await next(holderId)).stan, '382069');
    jumps = 3;
    const { stan } = await next(holderId);
    assert.equal(stan, String(((3 * 381_967 + 201 - 1) % 999_999) + 1).padStart(6, '0'));
  });

  test('a jump also moves the numbers of the link', async () => {
    let jumps = 0;
    const { next } = await setUp({ numbering: { ...unguardedNumbering, jumps: () => jumps } });
    const holderId = randomUUID();
    const numberOf = async () => (await next(holderId)).rrn.slice(-6);
    assert.equal(await numberOf(), '000001');
    jumps = 1;
    assert.equal(await numberOf(), String(1000 + 618_034 + 1));
  });

  test('a block that was reserved while the numbers jumped is not used', async () => {
    const counts = [0, 0, 0, 0];
    const jumps = () => counts.shift() ?? 1;
    const { next } = await setUp({ numbering: { ...unguardedNumbering, jumps } });
    assert.ok(Number((await next(randomUUID())).stan) > 381_967);
  });

  test('while the recovery is required no reference is allocated, not even of a reserved block', async () => {
    let isRequired = false;
    const requireAvailable = () => {
      if (isRequired) throw new ProblemError('recovery_required', 'The database lacks payments.');
    };
    const { next } = await setUp({ numbering: { ...unguardedNumbering, requireAvailable } });
    const holderId = randomUUID();
    await next(holderId);
    isRequired = true;
    await assert.rejects(
      next(holderId),
      (error) => error instanceof ProblemError && error.code === 'recovery_required',
    );
  });
});
