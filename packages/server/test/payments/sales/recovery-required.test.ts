// Whole run: many sales are prepared, or a process is started, for each test.
// A process whose database lost payments: it refuses operations with new numbers and continues all
// others.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { defined, throwProblem } from '@switchyard/contract';
import { type Numbering, noLostWriteGuard } from '../../../src/platform/index.ts';
import { deviceTokenOf, openQr, type TestQr } from '../../qr/test-qr-merchant.ts';
import { qrBase } from '../../qr/test-qr-provider.ts';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import {
  type SecondProcess,
  startSecondProcess,
} from '../../support/processes/second-server-process.ts';
import { signedInCommandLine } from '../../support/processes/switchyard-command.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { offlineSale } from '../offline/offline-uploads.ts';

const base = '/payment/v1/transactions';
const recovery = { code: 'recovery_required', outcome: 'Unknown' } as const;

const numbering: Numbering = {
  ...noLostWriteGuard.numbering,
  isAvailable: () => false,
  isRecoveryRequired: () => true,
  requireAvailable: () => throwProblem('recovery_required', 'The database lacks payments.'),
};
const timeline = { ...noLostWriteGuard, numbering };

describe('while the recovery of the numbering is required', () => {
  let qr: TestQr;
  let setup: TestOrganization;
  let other: SecondProcess;
  before(async () => {
    qr = await openQr();
    setup = qr.organization;
    other = await startSecondProcess(setup, { timeline });
  });
  after(async () => {
    await other.stop();
    await qr.close();
  });

  const call = (method: string, path: string, body?: unknown, token = setup.merchant.token) =>
    other.client.call(method, path, { token, ...defined({ body }) });

  async function sold(members: Record<string, unknown> = {}): Promise<string> {
    const options = { token: setup.merchant.token, body: keyedSale(members) };
    const { body, text } = await setup.client.call('POST', `${base}/process`, options);
    assert.ok(body.transactionId, text);
    return body.transactionId;
  }

  test('sales, offline uploads and operations are refused with an unknown outcome', async () => {
    const captured = await sold();
    const authorized = await sold({ captureMode: 'Deferred' });
    const requests: [path: string, body: unknown][] = [
      ['/process', keyedSale()],
      ['/process', offlineSale(setup)],
      [`/${authorized}/capture`, {}],
      [`/${captured}/refund`, {}],
      [`/${authorized}/cancel`, { cancelReason: 'Functional' }],
      [`/${authorized}/cancel`, { cancelReason: 'Technical' }],
      [`/${captured}/refundbyweb`, { clientOperationId: randomUUID() }],
      ['/captureall', { clientOperationId: randomUUID() }],
    ];
    for (const [path, body] of requests) {
      const answer = await call('POST', base + path, body);
      assertProblem(answer, recovery);
      assert.equal(answer.body.outcome, 'Unknown', path);
      assert.equal(answer.body.retryable, true, path);
    }
    const file = { acquirerLink: setup.linkId, openDays: true };
    const cleared = await call('POST', '/payment/v1/clearing-files', file, setup.acquirerToken);
    assertProblem(cleared, recovery);
  });

  test('an existing payment is read and confirmed, and a payment that is not found may be lost', async () => {
    const id = await sold({ confirmWithinSeconds: 60 });
    assert.equal((await call('GET', `${base}/${id}`)).status, 200);
    assert.equal((await call('POST', `${base}/${id}/confirm`, {})).status, 200);
    assertProblem(await call('GET', `${base}/${randomUUID()}`), recovery);
  });

  test('QR payments and their refunds are refused; reads and cancels continue', async () => {
    const token = await deviceTokenOf(setup, qr.merchant);
    const id = await qr.begun();
    assertProblem(await call('POST', qrBase, qr.request(), token), recovery);
    assertProblem(await call('POST', `${qrBase}/${id}/refund`, {}, token), recovery);
    assert.equal((await call('GET', `${qrBase}/${id}`, undefined, token)).status, 200);
    assertProblem(await call('GET', `${qrBase}/${randomUUID()}`, undefined, token), recovery);
    const cancelled = await call('POST', `${qrBase}/${id}/cancel`, {}, token);
    assert.ok([200, 202].includes(cancelled.status), cancelled.text);
  });

  test('a payment that was stored before the platform noticed the restore is not sent to the acquirer', async () => {
    const noticedLate = { ...numbering, requireAvailable() {} };
    const late = await startSecondProcess(setup, {
      timeline: { ...timeline, numbering: noticedLate },
    });
    try {
      const send = (path: string, body: unknown) =>
        late.client.call('POST', base + path, { token: setup.merchant.token, body });
      const authorized = await sold({ captureMode: 'Deferred' });
      const notSent = { code: 'not_sent', outcome: 'NotProcessed' } as const;
      assertProblem(await send('/process', keyedSale()), notSent);
      assertProblem(await send(`/${authorized}/capture`, {}), notSent);
    } finally {
      await late.stop();
    }
  });

  test('only the operator of the platform can read and recover the numbering', async () => {
    const line = await signedInCommandLine(setup);
    try {
      for (const command of ['numbering', 'recover-numbering']) {
        assert.equal((await line.run(['admin', command])).code, 4);
      }
    } finally {
      line.remove();
    }
  });
});
