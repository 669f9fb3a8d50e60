// Whole run: much is made, or waited for, before it shows.
// Captures by clearing file on the complete platform; the simulator parses the file independently.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
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
  files,
  makeFile,
  office,
  settled,
  terms,
  till,
} from './clearing-merchant.ts';

test('a capture is a line of a file, and counts once the acquirer has acknowledged it', async () => {
  const on = await createTestOrganization(terms);
  const [one = '', ...others] = [await authorize(on), await authorize(on), await authorize(on)];
  const request = { clientOperationId: randomUUID() };
  const single = await till(on, 'POST', `/${one}/capture`, request);
  assert.equal(single.status, 202, single.text);
  assert.deepEqual([single.body.state, single.body.operation.status], ['Authorized', 'Pending']);
  const again = await till(on, 'POST', `/${one}/capture`, request);
  assert.equal(again.headers['idempotent-replayed'], 'true', again.text);
  const all = await till(on, 'POST', '/captureall', {});
  const batch = await until(async () => {
    const { body } = await till(on, 'GET', `/captureall/${all.body.batchId}`);
    return body.state === 'Completed' ? body : undefined;
  }, 'the batch');
  // The single capture leaves no amount for the batch.
  assert.deepEqual([batch.total, batch.filed, batch.failed], [2, 2, 0]);
  const dry = await till(on, 'POST', '/captureall', { dryRun: true });
  assert.deepEqual([dry.body.total, dry.body.items], [0, []]);
  assert.equal(capturesAtHost(on), 0);

  const closed = await office(on, 'POST', '', { acquirerLink: on.linkId });
  assertProblem(closed, { code: 'nothing_to_clear', pointer: null });
  const made = await makeFile(on);
  const open = new RegExp(`switchyard_clearing_files_unacknowledged\\{link="${on.linkId}"\\} 1`);
  assert.match(await on.platform.metrics.registry.metrics(), open);
  assert.deepEqual(
    [made.sequence, made.state, made.lines, made.amounts],
    [1, 'Made', 3, [{ currency: 'EUR', amount: '3000' }]],
  );
  const text = await contentOf(on, made.clearingFileId);
  assert.equal(await contentOf(on, made.clearingFileId), text);
  const answer = on.host.clear(text);
  assert.match(answer, /\|Accepted\nT\|3\|0\n$/);
  assert.equal(capturesAtHost(on), 3);
  const told = await acknowledge(on, made.clearingFileId, answer);
  assert.equal(told.status, 200, told.text);
  const done = await settled(on, made.clearingFileId);
  assert.deepEqual([done.accepted, done.rejected], [3, 0]);
  for (const id of [one, ...others]) {
    const { body } = await till(on, 'GET', `/${id}`);
    assert.deepEqual([body.state, body.capturedAmount], ['Captured', 1000]);
    assert.match(body.operations[0].settlementDate, /^\d{4}-\d\d-\d\d$/);
  }

  // The same file and acknowledgement are sent again; no amount moves twice.
  assert.equal(on.host.clear(text), answer);
  assert.equal(capturesAtHost(on), 3);
  assert.equal((await acknowledge(on, made.clearingFileId, answer)).status, 200);
  const reference = text.split('\n')[1]?.split('|')[11];
  const other = answer.replace('T|3|0', `R|1|${reference}|61\nT|2|1`);
  assertProblem(await acknowledge(on, made.clearingFileId, other), {
    code: 'clearing_file_acknowledged',
    pointer: null,
  });
  await assertAgreement(on);
});

for (const multipleCapture of [true, false]) {
  const often = multipleCapture ? 'may be captured in parts' : 'is captured once';
  test(`a capture of all leaves what is in a file, of a sale that ${often}`, async () => {
    const on = await createTestOrganization({ ...terms, multipleCapture });
    const [whole, part, open] = [await authorize(on), await authorize(on), await authorize(on)];
    await till(on, 'POST', `/${whole}/capture`, {});
    await till(on, 'POST', `/${part}/capture`, { amount: 400 });
    const dry = await till(on, 'POST', '/captureall', { dryRun: true });
    const planned = [...(multipleCapture ? [[part, 600]] : []), [open, 1000]].sort();
    assert.deepEqual(
      dry.body.items.map(({ transactionId, amount }: Record<string, unknown>) => [
        transactionId,
        amount,
      ]),
      planned,
    );
    const all = await till(on, 'POST', '/captureall', {});
    const batch = await until(async () => {
      const { body } = await till(on, 'GET', `/captureall/${all.body.batchId}`);
      return body.state === 'Completed' ? body : undefined;
    }, 'the batch');
    assert.deepEqual([batch.filed, batch.failed], [planned.length, 0]);
    const { lines, amounts } = await makeFile(on);
    const amount = multipleCapture ? '3000' : '2400';
    assert.deepEqual([lines, amounts], [planned.length + 2, [{ currency: 'EUR', amount }]]);
  });
}

test('a line that the acquirer rejects has failed, and can be captured again', async () => {
  const on = await createTestOrganization(terms);
  const [good, bad] = [await authorize(on, 20_000), await authorize(on, 20_000)];
  await till(on, 'POST', `/${good}/capture`, { amount: 500, final: true });
  // The host declines this amount.
  await till(on, 'POST', `/${bad}/capture`, { amount: 9005, final: true });
  const made = await makeFile(on);
  const answer = on.host.clear(await contentOf(on, made.clearingFileId));
  assert.match(answer, /\nR\|\d\|\d{12}\|05\nT\|1\|1\n$/);
  await acknowledge(on, made.clearingFileId, answer);
  await settled(on, made.clearingFileId);
  const lines = await office(on, 'GET', `/${made.clearingFileId}/lines?status=Rejected`);
  assert.deepEqual(
    lines.body.items.map((line: Record<string, unknown>) => [line['transactionId'], line['code']]),
    [[bad, '05']],
  );
  const refused = (await till(on, 'GET', `/${bad}`)).body;
  assert.deepEqual([refused.state, refused.operations[0].status], ['Authorized', 'Declined']);
  assert.equal(refused.events.at(-1).type, 'transaction.capture_failed');
  const taken = (await till(on, 'GET', `/${good}`)).body;
  assert.deepEqual([taken.state, taken.cancelledAmount], ['Captured', 19_500]);
  await till(on, 'POST', `/${bad}/capture`, { amount: 700, final: true });
  const next = await makeFile(on);
  assert.deepEqual([next.sequence, next.lines], [2, 1]);
  await acknowledge(
    on,
    next.clearingFileId,
    on.host.clear(await contentOf(on, next.clearingFileId)),
  );
  await settled(on, next.clearingFileId);
  await assertAgreement(on);
});

test('a line that was not taken has failed, whatever the code says of messages', async () => {
  const on = await createTestOrganization(terms);
  const ids = [await authorize(on), await authorize(on), await authorize(on)];
  for (const id of ids) await till(on, 'POST', `/${id}/capture`, {});
  const made = await makeFile(on);
  const lines = (await contentOf(on, made.clearingFileId)).split('\n').slice(1, 4);
  const rejected = ['94', '26', '96'].map((code, index) => {
    const reference = lines[index]?.split('|')[11];
    return `R|${index + 1}|${reference}|${code}\n`;
  });
  const opening = `A|SWITCHYARD-CLEARING-ACK|1|000001|${made.clearingFileId}|Accepted\n`;
  const told = await acknowledge(on, made.clearingFileId, `${opening}${rejected.join('')}T|0|3\n`);
  assert.equal(told.status, 200, told.text);
  const done = await settled(on, made.clearingFileId);
  assert.deepEqual([done.accepted, done.rejected], [0, 3]);
  const open = await office(on, 'GET', `/${made.clearingFileId}/lines?status=Rejected`);
  assert.equal(open.body.items.length, 3, open.text);
  for (const id of ids) {
    const { body } = await till(on, 'GET', `/${id}`);
    assert.deepEqual([body.state, body.capturedAmount], ['Authorized', 0]);
    assert.equal(body.operations[0].status, 'Declined');
    assert.equal(body.events.at(-1).type, 'transaction.capture_failed');
    await till(on, 'POST', `/${id}/capture`, {});
  }
  const next = await makeFile(on);
  assert.deepEqual([next.sequence, next.lines], [2, 3]);
});

test('a file that arrives damaged is refused, and its lines go into the next one', async () => {
  const on = await createTestOrganization(terms);
  await till(on, 'POST', `/${await authorize(on)}/capture`, {});
  const made = await makeFile(on);
  const text = await contentOf(on, made.clearingFileId);
  const answer = on.host.clear(text.replace('|1000|', '|9000|'));
  assert.match(answer, /\|Rejected\|(AMOUNT|HASH)\n/);
  const told = await acknowledge(on, made.clearingFileId, answer);
  assert.equal(told.body.state, 'Rejected', told.text);
  assert.equal(capturesAtHost(on), 0);
  assertProblem(await office(on, 'GET', `/${made.clearingFileId}/content`), {
    code: 'resource_not_found',
    pointer: null,
  });
  const next = await makeFile(on);
  assert.deepEqual([next.sequence, next.lines], [1, 1]);
  await acknowledge(
    on,
    next.clearingFileId,
    on.host.clear(await contentOf(on, next.clearingFileId)),
  );
  await settled(on, next.clearingFileId);
  assert.equal(capturesAtHost(on), 1);
  await assertAgreement(on);
});

test('an acknowledgement must be readable, of this file, and account for every line', async () => {
  const on = await createTestOrganization(terms);
  await till(on, 'POST', `/${await authorize(on)}/capture`, {});
  const made = await makeFile(on);
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
    const answer = await acknowledge(on, id, text);
    assertProblem(answer, { code: 'acknowledgement_invalid', pointer: '/acknowledgement' }, text);
  }
  assert.equal((await office(on, 'GET', `/${id}`)).body.state, 'Made');
});

test('the settlement of a file that broke off goes on, and settles nothing twice', async () => {
  const on = await createTestOrganization(terms);
  const ids = await Promise.all(Array.from({ length: 20 }, () => authorize(on)));
  await Promise.all(ids.map((id) => till(on, 'POST', `/${id}/capture`, {})));
  const made = await makeFile(on);
  const key = [on.organizationId, made.clearingFileId];
  const answer = on.host.clear(await contentOf(on, made.clearingFileId));
  await acknowledge(on, made.clearingFileId, answer);
  await settled(on, made.clearingFileId);
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
    `INSERT INTO jobs (organization_id, job_id, kind, payload, due_at, attempts, created_at)
      VALUES ($1, $3, 'payments.apply-acknowledgement', jsonb_build_object('fileId', $2::uuid), now(), 0, now())`,
    [...key, randomUUID()],
  );
  await settled(on, made.clearingFileId);
  for (const { body } of await Promise.all(ids.map((id) => till(on, 'GET', `/${id}`)))) {
    assert.deepEqual([body.capturedAmount, body.events.length], [1000, 4]);
  }
  await assertAgreement(on);
});

/** Makes all captures due and returns the file that the platform creates of them. */
async function dueFile(on: TestOrganization) {
  const database = await testDatabase();
  await database.query(`UPDATE clearing_lines SET due_at = now() WHERE organization_id = $1`, [
    on.organizationId,
  ]);
  const [made] = await until(
    async () => {
      const { body } = await office(on, 'GET', `?acquirerLink=${on.linkId}&state=Made`);
      return body.items.length > 0 ? body.items : undefined;
    },
    'a file',
    60_000,
  );
  return made;
}

test('a file is made by itself once a settlement day has ended, and by one process alone', async () => {
  const on = await createTestOrganization(terms);
  await till(on, 'POST', `/${await authorize(on)}/capture`, {});
  const made = await dueFile(on);
  assert.deepEqual([made.sequence, made.lines], [1, 1]);

  const ids = [await authorize(on), await authorize(on)];
  await Promise.all(ids.map((id) => till(on, 'POST', `/${id}/capture`, {})));
  const request = { acquirerLink: on.linkId, openDays: true };
  const answers = await Promise.all([1, 2, 3].map(() => office(on, 'POST', '', request)));
  const codes = answers.map(({ status }) => status).sort();
  assert.deepEqual(codes, [201, 422, 422]);
  const { body } = await office(on, 'GET', '?limit=1');
  assert.deepEqual([body.items[0].sequence, body.items[0].lines], [2, 2]);
});

for (const by of ['itself', 'the office']) {
  test(`what was captured over a link that is removed since is filed by ${by}, and settled`, async () => {
    const on = await createTestOrganization(terms);
    const id = await authorize(on);
    assert.equal((await till(on, 'POST', `/${id}/capture`, {})).status, 202);
    const scope = { organizationId: on.organizationId };
    const { acquirerContracts, acquirerLinks } = on.platform.provisioning;
    for (const { contractId } of [on.merchant, on.otherMerchant]) {
      await acquirerContracts.remove(scope, contractId);
    }
    await acquirerLinks.remove(scope, on.linkId);
    const made = by === 'itself' ? await dueFile(on) : await makeFile(on);
    assert.deepEqual([made.sequence, made.lines], [1, 1]);
    const answer = on.host.clear(await contentOf(on, made.clearingFileId));
    const told = await acknowledge(on, made.clearingFileId, answer);
    assert.equal(told.status, 200, told.text);
    const done = await settled(on, made.clearingFileId);
    assert.deepEqual([done.accepted, done.rejected], [1, 0]);
    const { body } = await till(on, 'GET', `/${id}`);
    assert.deepEqual([body.state, body.capturedAmount], ['Captured', 1000]);
    assert.equal(capturesAtHost(on), 1);
  });
}

test('captures that should stand in a file by now are counted', async () => {
  const on = await createTestOrganization(terms);
  const gauge = new RegExp(`switchyard_clearing_lines_due\\{link="${on.linkId}"\\} (\\d+)`);
  const counted = async () => gauge.exec(await on.platform.metrics.registry.metrics())?.[1];
  const database = await testDatabase();
  const isCounted = async () => {
    await till(on, 'POST', `/${await authorize(on)}/capture`, {});
    await database.query(
      `UPDATE clearing_lines SET due_at = now() - interval '1 minute' WHERE organization_id = $1`,
      [on.organizationId],
    );
    return (await counted()) === '1' ? true : undefined;
  };
  await till(on, 'POST', `/${await authorize(on)}/capture`, {});
  assert.equal(await counted(), undefined, 'its day has not ended');
  await makeFile(on);
  // The platform may file the capture immediately; then the test makes another one.
  await until(isCounted, 'the capture to be counted');
});

test('files are the matter of the organisation whose links they are of', async () => {
  const on = await createTestOrganization(terms);
  const abroad = await createTestOrganization();
  await till(on, 'POST', `/${await authorize(on)}/capture`, {});
  const { clearingFileId } = await makeFile(on);
  const merchant = await on.client.call('GET', files, { token: on.merchant.token });
  assert.equal(merchant.status, 403, merchant.text);
  const foreign = await abroad.client.call('GET', `${files}/${clearingFileId}`, {
    token: abroad.acquirerToken,
  });
  assertProblem(foreign, { code: 'resource_not_found', pointer: null });
  const link = await office(abroad, 'POST', '', { acquirerLink: on.linkId });
  assert.equal(link.status, 404, link.text);
});
