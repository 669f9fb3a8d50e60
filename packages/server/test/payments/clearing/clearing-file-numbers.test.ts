// The numbers of clearing files after refusals: the sequence has no gap, and no line posts twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompiledQuery } from 'kysely';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';
import { assertAgreement } from '../ledger/ledger-invariants.ts';
import {
  acknowledge,
  authorize,
  capturesAtHost,
  contentOf,
  makeFile,
  office,
  settled,
  terms,
  till,
} from './clearing-merchant.ts';

type Made = { id: string; sequence: number; lines: number; text: string };

/** A file with one more capture and all captures that wait for a file. */
async function filed(on: TestOrganization): Promise<Made> {
  await till(on, 'POST', `/${await authorize(on)}/capture`, {});
  return fileOfAll(on);
}

async function fileOfAll(on: TestOrganization): Promise<Made> {
  const { clearingFileId: id, sequence, lines } = await makeFile(on);
  return { id, sequence, lines, text: await contentOf(on, id) };
}

const damaged = ({ text }: Made) => text.replace('|1000|', '|9000|');

/** Sends a file to the host and its acknowledgement to the platform. */
async function handOver(on: TestOrganization, file: Made, text = file.text): Promise<string> {
  const answer = on.host.clear(text);
  const told = await acknowledge(on, file.id, answer);
  assert.equal(told.status, 200, told.text);
  return answer;
}

async function settles(on: TestOrganization, file: Made): Promise<void> {
  assert.match(await handOver(on, file), /\|Accepted\n/);
  const { accepted, rejected } = await settled(on, file.id);
  assert.deepEqual([accepted, rejected], [file.lines, 0]);
}

test('the number of a refused file is filled below an open one, which goes in its turn then', async () => {
  const on = await createTestOrganization(terms);
  const [first, second] = [await filed(on), await filed(on)];
  assert.deepEqual([first.sequence, second.sequence], [1, 2]);
  assert.match(await handOver(on, first, damaged(first)), /\|Rejected\|(AMOUNT|HASH)\n/);
  // The file is out of sequence. The platform does not receive this acknowledgement, so its state
  // stays.
  assert.match(on.host.clear(second.text), /\|Rejected\|SEQUENCE\n/);
  const again = await fileOfAll(on);
  assert.deepEqual([again.sequence, again.lines], [1, 1]);
  await settles(on, again);
  await settles(on, second);
  const third = await filed(on);
  assert.equal(third.sequence, 3);
  await settles(on, third);
  assert.equal(capturesAtHost(on), 3);
  await assertAgreement(on);
});

test('a file that is refused out of turn goes into the missing one, and the next has its number', async () => {
  const on = await createTestOrganization(terms);
  const [first, second] = [await filed(on), await filed(on)];
  const refusal = await handOver(on, first, damaged(first));
  assert.match(await handOver(on, second), /\|Rejected\|SEQUENCE\n/);
  const again = await fileOfAll(on);
  assert.deepEqual([again.sequence, again.lines], [1, 2]);
  // The acknowledgement of the first file with this number does not apply to the second file.
  assertProblem(await acknowledge(on, again.id, refusal), {
    code: 'acknowledgement_invalid',
    pointer: '/acknowledgement',
  });
  await settles(on, again);
  const other = on.host.clear(again.text).replace(again.id, first.id).replace('T|2|0', 'T|1|0');
  assertProblem(await acknowledge(on, first.id, other), {
    code: 'clearing_file_acknowledged',
    pointer: null,
  });
  const third = await filed(on);
  assert.equal(third.sequence, 2);
  await settles(on, third);
  assert.equal(capturesAtHost(on), 3);
  await assertAgreement(on);
});

test('a number that the acquirer gave to a refused file is used up, and its lines post once', async () => {
  const on = await createTestOrganization(terms);
  const [first, second] = [await filed(on), await filed(on)];
  await handOver(on, first, damaged(first));
  // A copy of the undamaged first file reaches the host later.
  const late = on.host.clear(first.text);
  assert.match(late, /\|Accepted\n/);
  assertProblem(await acknowledge(on, first.id, late), {
    code: 'clearing_file_acknowledged',
    pointer: null,
  });
  const again = await fileOfAll(on);
  assert.equal(again.sequence, 1);
  assert.match(await handOver(on, again), /\|Rejected\|DUPLICATE\n/);
  await settles(on, second);
  const moved = await fileOfAll(on);
  assert.deepEqual([moved.sequence, moved.lines], [3, 1]);
  await settles(on, moved);
  assert.equal(capturesAtHost(on), 2);
  await assertAgreement(on);
});

test('a line that another process files meanwhile, under another number, stays in that file', async () => {
  const on = await createTestOrganization(terms);
  const first = await filed(on);
  const id = await authorize(on);
  await till(on, 'POST', `/${id}/capture`, {});
  const database = await testDatabase();
  const rival = database.transaction(async (trx) => {
    await trx.executeQuery(
      CompiledQuery.raw(
        `UPDATE clearing_lines SET file_id = $2, line = 2, status = 'Filed'
          WHERE organization_id = $1 AND file_id IS NULL`,
        [on.organizationId, first.id],
      ),
    );
    const answer = office(on, 'POST', '', { acquirerLink: on.linkId, openDays: true });
    await until(async () => {
      const rows = await database.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND query LIKE '%INTO clearing_files%'`,
      );
      return rows.length > 0 ? true : undefined;
    }, 'the file to wait for the line');
    return { answer };
  });
  assertProblem(await (await rival).answer, { code: 'nothing_to_clear', pointer: null });
  const { body } = await office(on, 'GET', `/${first.id}/lines`);
  assert.deepEqual(
    body.items.map(({ transactionId }: { transactionId: string }) => transactionId).at(-1),
    id,
  );
});

test('a sum beyond 2^53 is exact in the file, in its view and in its event', async () => {
  const on = await createTestOrganization(terms);
  const database = await testDatabase();
  const greatest = 999_999_999_999;
  const count = 9009;
  await database.query(
    `INSERT INTO clearing_lines (organization_id, transaction_id, operation_number, link_id, settlement_date,
        due_at, amount, currency, content, status)
      SELECT $1, gen_random_uuid(), 1, $2, '2099-03-01', '2099-03-02', $3, line.currency,
        jsonb_build_object('settlementDate', '2099-03-01', 'merchantNumber', $4::text,
          'amount', $3::bigint, 'currency', line.currency, 'final', true,
          'reference', line.reference, 'original', line.reference, 'authorizationCode', 'A00001',
          'maskedNumber', '411111******1111'), 'Waiting'
      FROM (SELECT CASE WHEN number = 1 THEN 'JPY' ELSE 'EUR' END AS currency,
          jsonb_build_object('mti', '0220', 'terminalId', 'T0000001', 'transmittedAt', '0301120000',
            'stan', lpad(number::text, 6, '0'), 'rrn', lpad(number::text, 12, '0')) AS reference
        FROM generate_series(1, $5::int + 1) AS number) AS line`,
    [on.organizationId, on.linkId, greatest, on.merchant.merchantNumber, count],
  );
  const sum = BigInt(count) * BigInt(greatest);
  assert.ok(sum > 2n ** 53n && BigInt(Number(sum)) !== sum, 'no JSON number holds it');
  const made = await makeFile(on);
  assert.equal(made.lines, count + 1);
  assert.deepEqual(made.amounts, [
    { currency: 'EUR', amount: String(sum) },
    { currency: 'JPY', amount: String(greatest) },
  ]);
  const text = await contentOf(on, made.clearingFileId);
  const trailer = text.trimEnd().split('\n').at(-1)?.split('|');
  assert.equal(trailer?.[2], `392:${greatest},978:${sum}`);
  assert.match(on.host.clear(text), /\|Accepted\n/, 'the host counts the same sum');
  const event = await until(async () => {
    const { body } = await on.client.call('GET', '/events/v1?limit=200', {
      token: on.acquirerToken,
    });
    return body.items.find(({ type }: { type: string }) => type === 'clearing.file_made');
  }, 'the event');
  assert.deepEqual(event.data.amounts, { EUR: String(sum), JPY: String(greatest) });
});

test('after a jump of the numbers a file continues 1,000 later, and the acquirer takes it behind the previous one', async () => {
  const on = await createTestOrganization(terms);
  const first = await filed(on);
  await settles(on, first);
  const database = await testDatabase();
  const makeOlder =
    'UPDATE clearing_files SET numbering_jumps = numbering_jumps - 1 WHERE link_id = $1';
  await database.query(makeOlder, [on.linkId]);
  const [second, third] = [await filed(on), await filed(on)];
  assert.deepEqual([second.sequence, third.sequence], [1002, 1003]);
  assert.match(on.host.clear(third.text), /\|Rejected\|SEQUENCE\n/);
  await settles(on, second);
  await settles(on, third);
});
