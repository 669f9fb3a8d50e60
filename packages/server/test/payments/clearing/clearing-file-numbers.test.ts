// Whole run: many sales are prepared, or a process is started, for each test.
// The numbers of clearing files after refusals: the sequence has no gap, and no line posts twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';
import { assertAgreement } from '../ledger/ledger-invariants.ts';
import {
  acknowledge,
  authorize,
  callAsAcquirer,
  callAsMerchant,
  capturesAtHost,
  createClearingFile,
  fileCaptureTerms,
  readFileContent,
  waitUntilSettled,
} from './clearing-merchant.ts';

type CreatedFile = { id: string; sequence: number; lines: number; text: string };

/** A file with one more capture and all captures that wait for a file. */
async function createFileOfOneCapture(setup: TestOrganization): Promise<CreatedFile> {
  await callAsMerchant(setup, 'POST', `/${await authorize(setup)}/capture`, {});
  return createFileOfAll(setup);
}

async function createFileOfAll(setup: TestOrganization): Promise<CreatedFile> {
  const { clearingFileId: id, sequence, lines } = await createClearingFile(setup);
  return { id, sequence, lines, text: await readFileContent(setup, id) };
}

const damaged = ({ text }: CreatedFile) => text.replace('|1000|', '|9000|');

/** Sends a file to the host and its acknowledgement to the platform. */
async function acknowledgeFile(
  setup: TestOrganization,
  file: CreatedFile,
  text = file.text,
): Promise<string> {
  const answer = setup.host.clear(text);
  const response = await acknowledge(setup, file.id, answer);
  assert.equal(response.status, 200, response.text);
  return answer;
}

async function assertSettles(setup: TestOrganization, file: CreatedFile): Promise<void> {
  assert.match(await acknowledgeFile(setup, file), /\|Accepted\n/);
  const { accepted, rejected } = await waitUntilSettled(setup, file.id);
  assert.deepEqual([accepted, rejected], [file.lines, 0]);
}

// Spec: CARD-44
test('the number of a refused file is reused before a later open file is sent', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const [first, second] = [
    await createFileOfOneCapture(setup),
    await createFileOfOneCapture(setup),
  ];
  assert.deepEqual([first.sequence, second.sequence], [1, 2]);
  assert.match(await acknowledgeFile(setup, first, damaged(first)), /\|Rejected\|(AMOUNT|HASH)\n/);
  // The file is out of sequence. The platform does not receive this acknowledgement, so its state
  // stays.
  assert.match(setup.host.clear(second.text), /\|Rejected\|SEQUENCE\n/);
  const again = await createFileOfAll(setup);
  assert.deepEqual([again.sequence, again.lines], [1, 1]);
  await assertSettles(setup, again);
  await assertSettles(setup, second);
  const third = await createFileOfOneCapture(setup);
  assert.equal(third.sequence, 3);
  await assertSettles(setup, third);
  assert.equal(capturesAtHost(setup), 3);
  await assertAgreement(setup);
});

test('a file that is refused out of order takes the missing number, and the next file takes its number', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const [first, second] = [
    await createFileOfOneCapture(setup),
    await createFileOfOneCapture(setup),
  ];
  const refusal = await acknowledgeFile(setup, first, damaged(first));
  assert.match(await acknowledgeFile(setup, second), /\|Rejected\|SEQUENCE\n/);
  const again = await createFileOfAll(setup);
  assert.deepEqual([again.sequence, again.lines], [1, 2]);
  // The acknowledgement of the first file with this number does not apply to the second file.
  assertProblem(await acknowledge(setup, again.id, refusal), {
    code: 'acknowledgement_invalid',
    pointer: '/acknowledgement',
  });
  await assertSettles(setup, again);
  const other = setup.host.clear(again.text).replace(again.id, first.id).replace('T|2|0', 'T|1|0');
  assertProblem(await acknowledge(setup, first.id, other), {
    code: 'clearing_file_acknowledged',
    pointer: null,
  });
  const third = await createFileOfOneCapture(setup);
  assert.equal(third.sequence, 2);
  await assertSettles(setup, third);
  assert.equal(capturesAtHost(setup), 3);
  await assertAgreement(setup);
});

test('a number that the acquirer used for a refused file is not reused, and its lines post once', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const [first, second] = [
    await createFileOfOneCapture(setup),
    await createFileOfOneCapture(setup),
  ];
  await acknowledgeFile(setup, first, damaged(first));
  // A copy of the undamaged first file reaches the host later.
  const late = setup.host.clear(first.text);
  assert.match(late, /\|Accepted\n/);
  assertProblem(await acknowledge(setup, first.id, late), {
    code: 'clearing_file_acknowledged',
    pointer: null,
  });
  const again = await createFileOfAll(setup);
  assert.equal(again.sequence, 1);
  assert.match(await acknowledgeFile(setup, again), /\|Rejected\|DUPLICATE\n/);
  await assertSettles(setup, second);
  const moved = await createFileOfAll(setup);
  assert.deepEqual([moved.sequence, moved.lines], [3, 1]);
  await assertSettles(setup, moved);
  assert.equal(capturesAtHost(setup), 2);
  await assertAgreement(setup);
});

test('a line that another process put into a file stays in that file', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const first = await createFileOfOneCapture(setup);
  const id = await authorize(setup);
  await callAsMerchant(setup, 'POST', `/${id}/capture`, {});
  const database = await testDatabase();
  const otherTransaction = database.transaction(async (trx) => {
    await trx.query(
      `UPDATE clearing_lines SET file_id = $2, line = 2, status = 'Filed'
          WHERE organization_id = $1 AND file_id IS NULL`,
      [setup.organizationId, first.id],
    );
    const answer = callAsAcquirer(setup, 'POST', '', {
      acquirerLink: setup.linkId,
      openDays: true,
    });
    await until(async () => {
      const rows = await database.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND query LIKE '%INTO clearing_files%'`,
      );
      return rows.length > 0 ? true : undefined;
    }, 'the file to wait for the line');
    return { answer };
  });
  assertProblem(await (await otherTransaction).answer, { code: 'nothing_to_clear', pointer: null });
  const { body } = await callAsAcquirer(setup, 'GET', `/${first.id}/lines`);
  assert.deepEqual(
    body.items.map(({ transactionId }: { transactionId: string }) => transactionId).at(-1),
    id,
  );
});

// Spec: CARD-44
test('a sum above 2^53 is exact in the file, in its view and in its event', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const database = await testDatabase();
  const greatest = 999_999_999_999;
  const count = 9009;
  await database.query(
    `INSERT INTO clearing_lines (bucket, organization_id, transaction_id, operation_number, link_id, settlement_date,
        due_at, amount, currency, content, status)
      SELECT 0, $1, gen_random_uuid(), 1, $2, '2099-03-01', '2099-03-02', $3, line.currency,
        jsonb_build_object('settlementDate', '2099-03-01', 'merchantNumber', $4::text,
          'amount', $3::bigint, 'currency', line.currency, 'final', true,
          'reference', line.reference, 'original', line.reference, 'authorizationCode', 'A00001',
          'maskedNumber', '411111******1111'), 'Waiting'
      FROM (SELECT CASE WHEN number = 1 THEN 'JPY' ELSE 'EUR' END AS currency,
          jsonb_build_object('mti', '0220', 'terminalId', 'T0000001', 'transmittedAt', '0301120000',
            'stan', lpad(number::text, 6, '0'), 'rrn', lpad(number::text, 12, '0')) AS reference
        FROM generate_series(1, $5::int + 1) AS number) AS line`,
    [setup.organizationId, setup.linkId, greatest, setup.merchant.merchantNumber, count],
  );
  const sum = BigInt(count) * BigInt(greatest);
  assert.ok(sum > 2n ** 53n && BigInt(Number(sum)) !== sum, 'no JSON number holds it');
  const made = await createClearingFile(setup);
  assert.equal(made.lines, count + 1);
  assert.deepEqual(made.amounts, [
    { currency: 'EUR', amount: String(sum) },
    { currency: 'JPY', amount: String(greatest) },
  ]);
  const text = await readFileContent(setup, made.clearingFileId);
  const trailer = text.trimEnd().split('\n').at(-1)?.split('|');
  assert.equal(trailer?.[2], `392:${greatest},978:${sum}`);
  assert.match(setup.host.clear(text), /\|Accepted\n/, 'the host counts the same sum');
  const event = await until(async () => {
    const { body } = await setup.client.call('GET', '/events/v1?limit=200', {
      token: setup.acquirerToken,
    });
    return body.items.find(({ type }: { type: string }) => type === 'clearing.file_made');
  }, 'the event');
  assert.deepEqual(event.data.amounts, { EUR: String(sum), JPY: String(greatest) });
});

// Spec: INV-20
test('after a jump of the numbers a file continues 1,000 later, and the acquirer accepts it after the previous file', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const first = await createFileOfOneCapture(setup);
  await assertSettles(setup, first);
  const database = await testDatabase();
  const makeOlder =
    'UPDATE clearing_files SET numbering_jumps = numbering_jumps - 1 WHERE link_id = $1';
  await database.query(makeOlder, [setup.linkId]);
  const [second, third] = [
    await createFileOfOneCapture(setup),
    await createFileOfOneCapture(setup),
  ];
  assert.deepEqual([second.sequence, third.sequence], [1002, 1003]);
  assert.match(setup.host.clear(third.text), /\|Rejected\|SEQUENCE\n/);
  await assertSettles(setup, second);
  await assertSettles(setup, third);
});
