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

test('the right answer after a wrong one is a late answer', async () => {
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
  try {
    await eventually('signed on', () => connection.available());
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
    const { transactionId } = request;
    assert.deepEqual(told, [{ organizationId, transactionId, kind: 'Sale', responseCode: '00' }]);
  } finally {
    await connection.close();
    await host.stop();
  }
});
