// Whole run: much is made, or waited for, before it shows.
// Captures by clearing file on the complete platform; the simulator parses the file independently.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { bucketSql } from '../../../src/platform/index.ts';
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
  clearingFilesPath,
  createClearingFile,
  fileCaptureTerms,
  readFileContent,
  waitUntilSettled,
} from './clearing-merchant.ts';

// Spec: CARD-44
test('a capture is a line of a file, and has effect when the acquirer acknowledged the file', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const [one = '', ...others] = [
    await authorize(setup),
    await authorize(setup),
    await authorize(setup),
  ];
  const request = { clientOperationId: randomUUID() };
  const single = await callAsMerchant(setup, 'POST', `/${one}/capture`, request);
  assert.equal(single.status, 202, single.text);
  assert.deepEqual([single.body.state, single.body.operation.status], ['Authorized', 'Pending']);
  const again = await callAsMerchant(setup, 'POST', `/${one}/capture`, request);
  assert.equal(again.headers['idempotent-replayed'], 'true', again.text);
  const all = await callAsMerchant(setup, 'POST', '/captureall', {});
  const batch = await until(async () => {
    const { body } = await callAsMerchant(setup, 'GET', `/captureall/${all.body.batchId}`);
    return body.state === 'Completed' ? body : undefined;
  }, 'the batch');
  // The single capture leaves no amount for the batch.
  assert.deepEqual([batch.total, batch.filed, batch.failed], [2, 2, 0]);
  const dry = await callAsMerchant(setup, 'POST', '/captureall', { dryRun: true });
  assert.deepEqual([dry.body.total, dry.body.items], [0, []]);
  assert.equal(capturesAtHost(setup), 0);

  const closed = await callAsAcquirer(setup, 'POST', '', { acquirerLink: setup.linkId });
  assertProblem(closed, { code: 'nothing_to_clear', pointer: null });
  const made = await createClearingFile(setup);
  const open = new RegExp(`switchyard_clearing_files_unacknowledged\\{link="${setup.linkId}"\\} 1`);
  assert.match(await setup.platform.metrics.registry.metrics(), open);
  assert.deepEqual(
    [made.sequence, made.state, made.lines, made.amounts],
    [1, 'Made', 3, [{ currency: 'EUR', amount: '3000' }]],
  );
  const text = await readFileContent(setup, made.clearingFileId);
  assert.equal(await readFileContent(setup, made.clearingFileId), text);
  const answer = setup.host.clear(text);
  assert.match(answer, /\|Accepted\nT\|3\|0\n$/);
  assert.equal(capturesAtHost(setup), 3);
  const response = await acknowledge(setup, made.clearingFileId, answer);
  assert.equal(response.status, 200, response.text);
  const done = await waitUntilSettled(setup, made.clearingFileId);
  assert.deepEqual([done.accepted, done.rejected], [3, 0]);
  for (const id of [one, ...others]) {
    const { body } = await callAsMerchant(setup, 'GET', `/${id}`);
    assert.deepEqual([body.state, body.capturedAmount], ['Captured', 1000]);
    assert.match(body.operations[0].settlementDate, /^\d{4}-\d\d-\d\d$/);
  }

  // The same file and acknowledgement are sent again; no amount moves twice.
  assert.equal(setup.host.clear(text), answer);
  assert.equal(capturesAtHost(setup), 3);
  assert.equal((await acknowledge(setup, made.clearingFileId, answer)).status, 200);
  const reference = text.split('\n')[1]?.split('|')[11];
  const other = answer.replace('T|3|0', `R|1|${reference}|61\nT|2|1`);
  assertProblem(await acknowledge(setup, made.clearingFileId, other), {
    code: 'clearing_file_acknowledged',
    pointer: null,
  });
  await assertAgreement(setup);
});

test('the line of a capture is final if it leaves nothing to capture and nothing is pending', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const [whole, open, parts] = [
    await authorize(setup),
    await authorize(setup),
    await authorize(setup),
  ];
  await callAsMerchant(setup, 'POST', `/${whole}/capture`, {});
  await callAsMerchant(setup, 'POST', `/${open}/capture`, { final: false });
  await callAsMerchant(setup, 'POST', `/${parts}/capture`, { amount: 400 });
  // The first part can still be rejected.
  await callAsMerchant(setup, 'POST', `/${parts}/capture`, {});
  const { clearingFileId } = await createClearingFile(setup);
  const text = await readFileContent(setup, clearingFileId);
  const lines = text.split('\n').filter((line) => line.startsWith('C|'));
  assert.deepEqual(
    lines.map((line) => line.split('|')[6]),
    ['F', 'P', 'P', 'P'],
  );
});

for (const multipleCapture of [true, false]) {
  const often = multipleCapture ? 'may be captured in parts' : 'is captured once';
  test(`a capture of all skips captures in a file, of a sale that ${often}`, async () => {
    const setup = await createTestOrganization({ ...fileCaptureTerms, multipleCapture });
    const [whole, part, open] = [
      await authorize(setup),
      await authorize(setup),
      await authorize(setup),
    ];
    await callAsMerchant(setup, 'POST', `/${whole}/capture`, {});
    await callAsMerchant(setup, 'POST', `/${part}/capture`, { amount: 400 });
    const dry = await callAsMerchant(setup, 'POST', '/captureall', { dryRun: true });
    const planned = [...(multipleCapture ? [[part, 600]] : []), [open, 1000]].sort();
    assert.deepEqual(
      dry.body.items.map(({ transactionId, amount }: Record<string, unknown>) => [
        transactionId,
        amount,
      ]),
      planned,
    );
    const all = await callAsMerchant(setup, 'POST', '/captureall', {});
    const batch = await until(async () => {
      const { body } = await callAsMerchant(setup, 'GET', `/captureall/${all.body.batchId}`);
      return body.state === 'Completed' ? body : undefined;
    }, 'the batch');
    assert.deepEqual([batch.filed, batch.failed], [planned.length, 0]);
    const { lines, amounts } = await createClearingFile(setup);
    const amount = multipleCapture ? '3000' : '2400';
    assert.deepEqual([lines, amounts], [planned.length + 2, [{ currency: 'EUR', amount }]]);
  });
}

// Spec: CARD-45
test('a rejected line fails its capture, and the sale can be captured again', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const [good, bad] = [await authorize(setup, 20_000), await authorize(setup, 20_000)];
  await callAsMerchant(setup, 'POST', `/${good}/capture`, { amount: 500, final: true });
  // The host declines this amount.
  await callAsMerchant(setup, 'POST', `/${bad}/capture`, { amount: 9005, final: true });
  const made = await createClearingFile(setup);
  const answer = setup.host.clear(await readFileContent(setup, made.clearingFileId));
  assert.match(answer, /\nR\|\d\|\d{12}\|05\nT\|1\|1\n$/);
  await acknowledge(setup, made.clearingFileId, answer);
  await waitUntilSettled(setup, made.clearingFileId);
  const lines = await callAsAcquirer(setup, 'GET', `/${made.clearingFileId}/lines?status=Rejected`);
  assert.deepEqual(
    lines.body.items.map((line: Record<string, unknown>) => [line['transactionId'], line['code']]),
    [[bad, '05']],
  );
  const refused = (await callAsMerchant(setup, 'GET', `/${bad}`)).body;
  assert.deepEqual([refused.state, refused.operations[0].status], ['Authorized', 'Declined']);
  assert.equal(refused.events.at(-1).type, 'transaction.capture_failed');
  const acceptedFile = (await callAsMerchant(setup, 'GET', `/${good}`)).body;
  assert.deepEqual([acceptedFile.state, acceptedFile.cancelledAmount], ['Captured', 19_500]);
  await callAsMerchant(setup, 'POST', `/${bad}/capture`, { amount: 700, final: true });
  const next = await createClearingFile(setup);
  assert.deepEqual([next.sequence, next.lines], [2, 1]);
  await acknowledge(
    setup,
    next.clearingFileId,
    setup.host.clear(await readFileContent(setup, next.clearingFileId)),
  );
  await waitUntilSettled(setup, next.clearingFileId);
  await assertAgreement(setup);
});

// Spec: CARD-45
test('a rejected clearing line declines its capture, also for response codes 94, 26 and 96', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const ids = [await authorize(setup), await authorize(setup), await authorize(setup)];
  for (const id of ids) await callAsMerchant(setup, 'POST', `/${id}/capture`, {});
  const made = await createClearingFile(setup);
  const lines = (await readFileContent(setup, made.clearingFileId)).split('\n').slice(1, 4);
  const rejected = ['94', '26', '96'].map((code, index) => {
    const reference = lines[index]?.split('|')[11];
    return `R|${index + 1}|${reference}|${code}\n`;
  });
  const opening = `A|SWITCHYARD-CLEARING-ACK|1|000001|${made.clearingFileId}|Accepted\n`;
  const response = await acknowledge(
    setup,
    made.clearingFileId,
    `${opening}${rejected.join('')}T|0|3\n`,
  );
  assert.equal(response.status, 200, response.text);
  const done = await waitUntilSettled(setup, made.clearingFileId);
  assert.deepEqual([done.accepted, done.rejected], [0, 3]);
  const open = await callAsAcquirer(setup, 'GET', `/${made.clearingFileId}/lines?status=Rejected`);
  assert.equal(open.body.items.length, 3, open.text);
  for (const id of ids) {
    const { body } = await callAsMerchant(setup, 'GET', `/${id}`);
    assert.deepEqual([body.state, body.capturedAmount], ['Authorized', 0]);
    assert.equal(body.operations[0].status, 'Declined');
    assert.equal(body.events.at(-1).type, 'transaction.capture_failed');
    await callAsMerchant(setup, 'POST', `/${id}/capture`, {});
  }
  const next = await createClearingFile(setup);
  assert.deepEqual([next.sequence, next.lines], [2, 3]);
});

// Spec: CARD-45
test('a file that arrives damaged is refused, and its lines go into the next file', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  await callAsMerchant(setup, 'POST', `/${await authorize(setup)}/capture`, {});
  const made = await createClearingFile(setup);
  const text = await readFileContent(setup, made.clearingFileId);
  const answer = setup.host.clear(text.replace('|1000|', '|9000|'));
  assert.match(answer, /\|Rejected\|(AMOUNT|HASH)\n/);
  const response = await acknowledge(setup, made.clearingFileId, answer);
  assert.equal(response.body.state, 'Rejected', response.text);
  assert.equal(capturesAtHost(setup), 0);
  assertProblem(await callAsAcquirer(setup, 'GET', `/${made.clearingFileId}/content`), {
    code: 'resource_not_found',
    pointer: null,
  });
  const next = await createClearingFile(setup);
  assert.deepEqual([next.sequence, next.lines], [1, 1]);
  await acknowledge(
    setup,
    next.clearingFileId,
    setup.host.clear(await readFileContent(setup, next.clearingFileId)),
  );
  await waitUntilSettled(setup, next.clearingFileId);
  assert.equal(capturesAtHost(setup), 1);
  await assertAgreement(setup);
});

test('an acknowledgement must be readable, name this file, and contain every line', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  await callAsMerchant(setup, 'POST', `/${await authorize(setup)}/capture`, {});
  const made = await createClearingFile(setup);
  const id = made.clearingFileId;
  const opening = `A|SWITCHYARD-CLEARING-ACK|1|000001|${id}|Accepted\n`;
  for (const text of [
    'thank you',
    opening,
    `${opening}T|2|0\n`,
    `${opening}R|2|000000000000|61\nT|0|1\n`,
    // The number of another capture, then another number of lines.
    `${opening}R|1|000000000000|61\nT|0|1\n`,
    `${opening.replace('Accepted', 'Rejected|\u0000')}T|0|0\n`,
    `${opening.replace(id, randomUUID())}T|1|0\n`,
    `${opening.replace('000001', '000002')}T|1|0\n`,
  ]) {
    const answer = await acknowledge(setup, id, text);
    assertProblem(answer, { code: 'acknowledgement_invalid', pointer: '/acknowledgement' }, text);
  }
  assert.equal((await callAsAcquirer(setup, 'GET', `/${id}`)).body.state, 'Made');
});

test('an interrupted settlement of a file continues, and settles nothing twice', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const ids = await Promise.all(Array.from({ length: 20 }, () => authorize(setup)));
  await Promise.all(ids.map((id) => callAsMerchant(setup, 'POST', `/${id}/capture`, {})));
  const made = await createClearingFile(setup);
  const key = [setup.organizationId, made.clearingFileId];
  const answer = setup.host.clear(await readFileContent(setup, made.clearingFileId));
  await acknowledge(setup, made.clearingFileId, answer);
  await waitUntilSettled(setup, made.clearingFileId);
  // The state after a process that died before it recorded the settlement.
  const database = await testDatabase();
  await database.query(
    `UPDATE clearing_lines SET status = 'Filed' WHERE organization_id = $1 AND file_id = $2`,
    key,
  );
  await database.query(
    `UPDATE clearing_files SET state = 'Acknowledged' WHERE organization_id = $1 AND file_id = $2`,
    key,
  );
  await database.query(
    `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, attempts, created_at)
      VALUES (${bucketSql('$3::uuid')}, $1, $3, 'payments.apply-acknowledgement', jsonb_build_object('fileId', $2::uuid), now(), 0, now())`,
    [...key, randomUUID()],
  );
  await waitUntilSettled(setup, made.clearingFileId);
  for (const { body } of await Promise.all(
    ids.map((id) => callAsMerchant(setup, 'GET', `/${id}`)),
  )) {
    assert.deepEqual([body.capturedAmount, body.events.length], [1000, 4]);
  }
  await assertAgreement(setup);
});

/** Makes all captures due and returns the file that the platform creates of them. */
async function dueFile(setup: TestOrganization) {
  const database = await testDatabase();
  await database.query(`UPDATE clearing_lines SET due_at = now() WHERE organization_id = $1`, [
    setup.organizationId,
  ]);
  const [made] = await until(
    async () => {
      const { body } = await callAsAcquirer(
        setup,
        'GET',
        `?acquirerLink=${setup.linkId}&state=Made`,
      );
      return body.items.length > 0 ? body.items : undefined;
    },
    'a file',
    60_000,
  );
  return made;
}

test('one process creates a file automatically after the end of a settlement day', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  await callAsMerchant(setup, 'POST', `/${await authorize(setup)}/capture`, {});
  const made = await dueFile(setup);
  assert.deepEqual([made.sequence, made.lines], [1, 1]);

  const ids = [await authorize(setup), await authorize(setup)];
  await Promise.all(ids.map((id) => callAsMerchant(setup, 'POST', `/${id}/capture`, {})));
  const request = { acquirerLink: setup.linkId, openDays: true };
  const answers = await Promise.all(
    [1, 2, 3].map(() => callAsAcquirer(setup, 'POST', '', request)),
  );
  const codes = answers.map(({ status }) => status).sort();
  assert.deepEqual(codes, [201, 422, 422]);
  const { body } = await callAsAcquirer(setup, 'GET', '?limit=1');
  assert.deepEqual([body.items[0].sequence, body.items[0].lines], [2, 2]);
});

for (const fileAuthor of ['itself', 'the office']) {
  test(`captures over a link that was removed later are put into a file by ${fileAuthor}, and settled`, async () => {
    const setup = await createTestOrganization(fileCaptureTerms);
    const id = await authorize(setup);
    assert.equal((await callAsMerchant(setup, 'POST', `/${id}/capture`, {})).status, 202);
    const scope = { organizationId: setup.organizationId };
    const { acquirerContracts, acquirerLinks } = setup.platform.provisioning;
    for (const { contractId } of [setup.merchant, setup.otherMerchant]) {
      await acquirerContracts.remove(scope, contractId);
    }
    await acquirerLinks.remove(scope, setup.linkId);
    const made = fileAuthor === 'itself' ? await dueFile(setup) : await createClearingFile(setup);
    assert.deepEqual([made.sequence, made.lines], [1, 1]);
    const answer = setup.host.clear(await readFileContent(setup, made.clearingFileId));
    const response = await acknowledge(setup, made.clearingFileId, answer);
    assert.equal(response.status, 200, response.text);
    const done = await waitUntilSettled(setup, made.clearingFileId);
    assert.deepEqual([done.accepted, done.rejected], [1, 0]);
    const { body } = await callAsMerchant(setup, 'GET', `/${id}`);
    assert.deepEqual([body.state, body.capturedAmount], ['Captured', 1000]);
    assert.equal(capturesAtHost(setup), 1);
  });
}

test('a metric counts captures that are overdue for a file', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const gauge = new RegExp(`switchyard_clearing_lines_due\\{link="${setup.linkId}"\\} (\\d+)`);
  const counted = async () => gauge.exec(await setup.platform.metrics.registry.metrics())?.[1];
  const database = await testDatabase();
  const isCounted = async () => {
    await callAsMerchant(setup, 'POST', `/${await authorize(setup)}/capture`, {});
    await database.query(
      `UPDATE clearing_lines SET due_at = now() - interval '1 minute' WHERE organization_id = $1`,
      [setup.organizationId],
    );
    return (await counted()) === '1' ? true : undefined;
  };
  await callAsMerchant(setup, 'POST', `/${await authorize(setup)}/capture`, {});
  assert.equal(await counted(), '0', 'its day has not ended');
  await createClearingFile(setup);
  // The platform may file the capture immediately; then the test makes another one.
  await until(isCounted, 'the capture to be counted');
});

test('only the organisation of the link can use its files', async () => {
  const setup = await createTestOrganization(fileCaptureTerms);
  const abroad = await createTestOrganization();
  await callAsMerchant(setup, 'POST', `/${await authorize(setup)}/capture`, {});
  const { clearingFileId } = await createClearingFile(setup);
  const merchant = await setup.client.call('GET', clearingFilesPath, {
    token: setup.merchant.token,
  });
  assert.equal(merchant.status, 403, merchant.text);
  const foreign = await abroad.client.call('GET', `${clearingFilesPath}/${clearingFileId}`, {
    token: abroad.acquirerToken,
  });
  assertProblem(foreign, { code: 'resource_not_found', pointer: null });
  const link = await callAsAcquirer(abroad, 'POST', '', { acquirerLink: setup.linkId });
  assert.equal(link.status, 404, link.text);
});
