import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtInHosts, compileHost } from '@switchyard/iso8583';
import { eventually } from '../../../test/eventually.ts';
import {
  type Asked,
  answerTo,
  approve,
  frameOf,
  startScriptedHost,
} from '../../../test/scripted-host.ts';
import { createLog, systemClock } from '../../platform/index.ts';
import type { AcquirerRequest, LateAnswer } from '../types.ts';
import { connectIso8583Host } from './index.ts';

const request: AcquirerRequest = {
  kind: 'Sale',
  repeat: false,
  organizationId: 'organization',
  transactionId: 'transaction',
  linkId: 'link',
  reference: {
    mti: '0200',
    terminalId: 'TERM0001',
    stan: '000001',
    rrn: '500112000001',
    transmittedAt: '0101120000',
    localTime: '120000',
    localDate: '0101',
  },
  merchantNumber: 'M00000000000001',
  mcc: '5411',
  amount: 1234,
  currency: 'EUR',
  entryMode: 'Keyed',
  card: { pan: '4111111111111111', expiry: '3012' },
};

async function attached() {
  const host = await startScriptedHost();
  const told: LateAnswer[] = [];
  const { organizationId, linkId } = request;
  const settings = { host: '127.0.0.1', port: host.port, institutionId: '1001' };
  const connection = connectIso8583Host({
    link: { organizationId, linkId, name: 'north', adapter: 'iso8583-host', settings },
    host: compileHost(builtInHosts['iso1987-binary'], { now: Date.now }),
    timeoutMs: 20_000,
    clock: systemClock,
    log: createLog({ logLevel: 'silent', instanceName: 'test' }),
    onLateAnswer: (late) => told.push(late),
  });
  const close = async () => {
    await connection.close();
    await host.stop();
  };
  await eventually('signed on', () => connection.available());
  return { host, connection, told, close };
}

const { organizationId, transactionId } = request;
const late = { organizationId, transactionId, kind: 'Sale', responseCode: '00' };

test('the right answer after a wrong one is a late answer', async () => {
  const { host, connection, told, close } = await attached();
  try {
    let sale: Asked | undefined;
    host.script((asked) => {
      sale = asked;
      asked.socket.write(frameOf(answerTo(asked.message, { 42: 'M00000000000002' })));
    });
    const outcome = await connection.send(request);
    assert.deepEqual(outcome, { outcome: 'Unknown', reason: 'InvalidResponse' });
    host.script(approve);
    assert.ok(sale);
    approve(sale);
    await eventually('told', () => told.length > 0);
    assert.deepEqual(told, [late]);
  } finally {
    await close();
  }
});

test('an answer after one that judged nothing is a late answer, one after a judgement is none', async () => {
  const { host, connection, told, close } = await attached();
  const sales: Asked[] = [];
  try {
    for (const [index, code] of ['05', '09', '68', '26', '94'].entries()) {
      host.script((asked) => {
        sales.push(asked);
        asked.socket.write(frameOf(answerTo(asked.message, { 39: code })));
      });
      const reference = { ...request.reference, stan: `00000${index}` };
      const outcome = await connection.send({ ...request, reference });
      assert.deepEqual(outcome, { outcome: 'Declined', responseCode: code });
    }
    // In this order on one connection: that of the judged sale has been read when the last one is told.
    for (const sale of sales) approve(sale);
    await eventually('told', () => told.length >= 4);
    assert.deepEqual(told, Array(4).fill(late));
  } finally {
    await close();
  }
});
