// Whole run: much is made, or waited for, before it shows.
// The simulated terminal with its own platform: PINs, chips and reversals over HTTPS. Its way over the
// connector is tested in tools/guides/readme.test.ts.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readLedger, type StartedTerminal, startTerminal } from '@switchyard/simulators';
import { scanFolder } from '../support/card-data/leak-scan.ts';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import { createDemoServer, type DemoServer } from '../support/processes/demo-server.ts';
import type { ServerProcess } from '../support/processes/server-process.ts';
import { eventually } from '../support/wait-for-condition.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of many shapes
type Json = Record<string, any>;
type Facts = Awaited<ReturnType<ServerProcess['demoFacts']>> & {
  deviceAuthUrl: string;
  devices: (Json & { tsn: string; certFile: string; keyFile: string })[];
};

describe('the simulated terminal', () => {
  let demo: DemoServer | undefined;
  let folder: string;
  let platform: ServerProcess;
  let facts: Facts;
  let started: StartedTerminal;
  let certificate: string;

  before(async () => {
    demo = await createDemoServer('simulated', {
      SWITCHYARD_DATABASE_URL: await testDatabaseCopyUrl(),
      SWITCHYARD_LOG_LEVEL: 'warn',
    });
    folder = demo.directory;
    platform = demo.server;
    await platform.start();
    facts = (await platform.demoFacts()) as Facts;
    const [device] = facts.devices;
    assert.ok(device);
    started = await startTerminal({
      tsn: device.tsn,
      dataDir: join(folder, 'terminal'),
      now: Date.now,
      keys: { baseDerivationKey: device['baseDerivationKey'], ksn: device['ksn'] },
      baseUrl: facts.baseUrl,
      deviceAuthUrl: facts.deviceAuthUrl,
      cert: await readFile(device.certFile, 'utf8'),
      key: await readFile(device.keyFile, 'utf8'),
      ca: await readFile(facts.caFile, 'utf8'),
      listen: { host: '127.0.0.1', port: 0 },
      times: { stepMs: 1, cardWaitMs: 100, lateAnswerMs: 10, rebootMs: 50, enquiryMs: 50 },
    });
    certificate = await readFile(started.local?.certFile ?? '', 'utf8');
  });
  after(async () => {
    await started?.stop();
    scanFolder(join(folder, 'terminal'));
    await demo?.close();
  });

  let services = 0;
  function message(category: string, body: Json): Json {
    services += 1;
    return {
      SaleToPOIRequest: {
        MessageHeader: {
          ProtocolVersion: '3.0',
          MessageClass: 'Service',
          MessageType: 'Request',
          MessageCategory: category,
          ServiceID: `E${services}`,
          SaleID: 'till-1',
          POIID: started.terminal.tsn,
        },
        [`${category}Request`]: body,
      },
    };
  }

  const pay = (amount: number, members: Json = {}) =>
    message('Payment', {
      SaleData: {
        SaleTransactionID: { TransactionID: randomUUID(), TimeStamp: '2026-03-01T10:00:00Z' },
      },
      PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: amount } },
      ...members,
    });

  function post(body: Json): Promise<Json> {
    const url = new URL(started.local?.url ?? '');
    return new Promise((resolve, reject) => {
      const sent = request(url, { method: 'POST', ca: certificate, agent: false }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => {
          const text = Buffer.concat(parts).toString();
          resolve(text === '' ? {} : JSON.parse(text));
        });
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(body));
    });
  }

  const responseOf = (answer: Json, category = 'Payment'): Json =>
    answer['SaleToPOIResponse']?.[`${category}Response`] ?? {};
  const conditionOf = (answer: Json, category?: string): string => {
    const { Response } = responseOf(answer, category);
    return Response?.ErrorCondition ?? Response?.Result ?? JSON.stringify(answer);
  };

  async function transactionOf(id: string): Promise<Json> {
    const client = await platform.client();
    const { clientId, clientSecret } = facts.applications['merchant'] ?? {
      clientId: '',
      clientSecret: '',
    };
    const token = await client.token(facts.userDomainId, clientId, clientSecret);
    const { status, body, text } = await client.call('GET', `/payment/v1/transactions/${id}`, {
      token,
    });
    assert.equal(status, 200, text);
    return body;
  }

  test('chip and PIN: approved by the host, which opened the PIN', async () => {
    const answer = responseOf(await post(pay(12.5)));
    assert.equal(answer['Response']?.Result, 'Success', JSON.stringify(answer));
    const id = answer['POIData'].POITransactionID.TransactionID;
    const transaction = await transactionOf(id);
    assert.equal(transaction['state'], 'Captured');
    assert.equal(transaction['amount'], 1250);
    assert.equal(transaction['entryMode'], 'ContactChip');
    assert.equal(transaction['receipt'].merchant.cardholderVerification, 'PinVerified');
    const text = answer['PaymentReceipt'][0].OutputContent.OutputText;
    assert.ok(text.some(({ Text }: { Text: string }) => Text.includes('12.50')));
  });

  test('each card and amount ends as it says, and the books agree', async () => {
    const expected: [string, number, string][] = [
      ['visa', 10, 'Success'],
      ['tap', 11, 'Success'],
      ['phone', 12, 'Success'],
      ['stripe', 13, 'Success'],
      ['signature', 14, 'Success'],
      ['wrong-pin-once', 15, 'Success'],
      ['wrong-pin', 16, 'WrongPIN'],
      ['removed', 17, 'Cancel'],
      ['removed-late', 18, 'Cancel'],
      ['declines', 19, 'Refusal'],
      ['declines-late', 20, 'Refusal'],
      ['offline', 21, 'Success'],
      ['mastercard', 90.51, 'Refusal'],
      ['mastercard', 90.54, 'InvalidCard'],
      ['mastercard', 80.17, 'UnreachableHost'],
    ];
    const late: string[] = [];
    for (const [card, amount, condition] of expected) {
      started.terminal.setCard(card);
      const answer = await post(pay(amount));
      if (card.endsWith('-late')) {
        late.push(responseOf(answer)['POIData'].POITransactionID.TransactionID);
      }
      assert.equal(conditionOf(answer), condition, `${card} ${amount}: ${JSON.stringify(answer)}`);
    }
    started.terminal.setCard('mastercard');
    // The demo acquirer approves the whole amount, although the till accepts a partial approval.
    const partial = await post(pay(22, { PaymentData: { SplitPaymentFlag: true } }));
    assert.equal(conditionOf(partial), 'Success');
    await eventually('nothing is owed', () => {
      const { reversals, uploads } = started.terminal.pendingCounts();
      return reversals + uploads === 0;
    });
    // These sales were captured and then declined by the terminal; the money goes back by reversal
    // or refund.
    for (const id of late) {
      await eventually('it is given back', async () => {
        const { state } = await transactionOf(id);
        return ['Refunded', 'Reversed', 'Cancelled'].includes(state);
      });
    }
    assert.deepEqual(readLedger(join(demo?.dataDir ?? '', 'acquirer')).faults, []);
  });

  test('reservation, completion, refund and reversal at the platform', async () => {
    const reserved = responseOf(
      await post(pay(30, { PaymentData: { PaymentType: 'FirstReservation' } })),
    );
    assert.equal(reserved['Response']?.Result, 'Success', JSON.stringify(reserved));
    const OriginalPOITransaction = { POITransactionID: reserved['POIData'].POITransactionID };
    const id = OriginalPOITransaction.POITransactionID.TransactionID;
    assert.equal((await transactionOf(id))['state'], 'Authorized');
    const referencedPayment = (PaymentType: string, RequestedAmount: number) =>
      pay(0, {
        PaymentTransaction: {
          AmountsReq: { Currency: 'EUR', RequestedAmount },
          OriginalPOITransaction,
        },
        PaymentData: { PaymentType },
      });
    assert.equal(conditionOf(await post(referencedPayment('Completion', 30))), 'Success');
    assert.equal(conditionOf(await post(referencedPayment('Refund', 10))), 'Success');
    assert.equal((await transactionOf(id))['refundedAmount'], 1000);
    assert.equal(conditionOf(await post(referencedPayment('Refund', 100))), 'NotAllowed');
    const reversal = message('Reversal', {
      OriginalPOITransaction,
      ReversalReason: 'MerchantCancel',
    });
    assert.equal(conditionOf(await post(reversal), 'Reversal'), 'Success');
    assert.equal((await transactionOf(id))['state'], 'Refunded');
  });

  test('a refund that the host has not decided has no receipt', async () => {
    const sold = responseOf(await post(pay(200)));
    const answer = responseOf(
      await post(
        pay(0, {
          PaymentTransaction: {
            AmountsReq: { Currency: 'EUR', RequestedAmount: 90.09 },
            OriginalPOITransaction: { POITransactionID: sold['POIData'].POITransactionID },
          },
          PaymentData: { PaymentType: 'Refund' },
        }),
      ),
    );
    assert.equal(answer['Response'].Result, 'Success');
    assert.equal(answer['PaymentReceipt'], undefined);
    assert.ok(sold['PaymentReceipt'].length > 0);
  });

  test('a terminal restarts during a payment: the point of sale gets the answer, and money is taken once', async () => {
    const payment = pay(80.16);
    await assert.rejects(post(payment), 'the connection breaks off');
    const { MessageHeader: header } = payment['SaleToPOIRequest'];
    const { MessageCategory, SaleID, ServiceID } = header;
    let paymentResponse: Json = {};
    await eventually('the outcome is reported', async () => {
      const status = message('TransactionStatus', {
        MessageReference: { MessageCategory, SaleID, ServiceID },
      });
      const answer = responseOf(await post(status).catch(() => ({})), 'TransactionStatus');
      paymentResponse =
        answer['RepeatedMessageResponse']?.RepeatedResponseMessageBody.PaymentResponse ?? {};
      return paymentResponse['Response'] !== undefined;
    });
    assert.equal(paymentResponse['Response'].Result, 'Success');
    const { state } = await transactionOf(
      paymentResponse['POIData'].POITransactionID.TransactionID,
    );
    assert.equal(state, 'Captured');
  });
});
