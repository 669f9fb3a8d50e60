// Compares the WebSockets in the AsyncAPI document with the real ones.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { closeCodes, connectorPaths } from '@switchyard/contract';
import { eventually } from '../support/wait-for-condition.ts';
import {
  createComparison,
  documentOfTests,
  exampleOf,
  messagesTakenAt,
  requiredOf,
} from './check-websocket-document.ts';
import {
  type Client,
  type Json,
  startTestConnector,
  type TestConnector,
} from './test-connector.ts';

/** All operations and replies of the document, in the format of the comparison. */
function everyExchange(): string[] {
  return Object.entries(documentOfTests.operations).flatMap(([name, { channel, reply }]) => {
    const { $ref } = channel;
    const isSocket = $ref.split('/').at(-1) ?? '';
    if (documentOfTests.channels[isSocket]?.['x-close-codes'] === undefined) return [];
    const answers = reply?.messages.map((answer) => `${name} > ${answer.$ref.split('/').at(-1)}`);
    return [name, ...(answers ?? [])];
  });
}

describe('the WebSockets of the document', () => {
  let setup: TestConnector;
  let till: Client;

  before(async () => {
    setup = await startTestConnector();
    till = await setup.application();
  });
  after(() => setup.close());

  // Spec: LIST-17
  it('send and accept every documented message', async () => {
    const terminal = await setup.terminal();
    const token = await setup.tokenOf(till);
    const { tsn } = terminal;
    const { line: stranger } = await setup.register({ type: 'register', tsn });
    assert.equal((await stranger.closed()).code, closeCodes.unauthorized);
    const { line: mute } = await setup.register('no JSON');
    assert.equal((await mute.closed()).code, closeCodes.badMessage);
    const device = await setup.connect(terminal, till);
    const pos = await setup.pos(token);
    const { line, claimed } = await setup.session(pos, { tsn, posId: 'p1' });
    line.send('to the device');
    assert.equal((await device.raw()).data.toString(), 'to the device');
    device.send('to the till');
    assert.equal((await line.raw()).data.toString(), 'to the till');
    const { sessionId } = claimed;
    const messagesByType: Record<string, Json[]> = {
      status: [{ tsn }, { tsn: 'AXIUM_DX8000-99999999' }],
      claim: [{ tsn: 'AXIUM_DX8000-99999999', posId: 'p1' }],
      release: [{ sessionId }, { sessionId }],
      renewToken: [{ token: await setup.tokenOf(till) }, { token: 'none of ours' }],
    };
    for (const [type, messages] of Object.entries(messagesByType)) {
      for (const [at, message] of messages.entries()) {
        await setup.ask(pos, { type, requestId: `${type}-${at}`, ...message });
      }
    }
    pos.send('{"type":"unheard-of"}');
    assert.equal((await pos.closed()).code, closeCodes.badMessage);
    await eventually('all of it was seen', () =>
      everyExchange().every((each) => setup.comparison.coveredOperations.has(each)),
    );
    assert.deepEqual([...setup.comparison.coveredOperations].sort(), everyExchange().sort());
    assert.deepEqual(setup.comparison.faults, []);
  });

  it('accept the documented examples and refuse each example without a required member', async () => {
    const token = await setup.tokenOf(till);
    const names = messagesTakenAt('posListener');
    assert.deepEqual(names, ['Claim', 'Status', 'Release', 'RenewToken']);
    const whole = await setup.pos(token);
    for (const name of names) {
      const answer = await setup.ask(whole, exampleOf(name));
      assert.notEqual(answer['error']?.code, 'bad_message', name);
    }
    for (const name of names) {
      for (const member of requiredOf(name)) {
        const { [member]: _left, ...rest } = exampleOf(name);
        const pos = await setup.pos(token);
        pos.send(rest);
        assert.equal((await pos.next())['error'].code, 'bad_message', `${name} without ${member}`);
        assert.equal((await pos.closed()).code, closeCodes.badMessage);
      }
    }
  });
});

describe('a comparison with the document', () => {
  const { posListener, deviceListener } = connectorPaths;
  const faultsOf = (use: (comparison: ReturnType<typeof createComparison>) => void) => {
    const comparison = createComparison();
    use(comparison);
    return comparison.faults;
  };
  const text = (message: Json) => Buffer.from(JSON.stringify(message));

  it('reports messages and close codes that are not documented', () => {
    const released = text({ type: 'released', requestId: '1', sessionId: 's' });
    const claim = JSON.stringify({ type: 'claim', requestId: '1', tsn: '1' });
    const error = { code: 'unheard_of', message: 'm', retryable: false };
    for (const [what, use] of Object.entries({
      'a message of nobody': (at) => at.heard(text({ type: 'news' }), false),
      'a message of another channel': (at) => at.heard(text(exampleOf('Registered')), false),
      'binary data': (at) => at.heard(Buffer.from('{}'), true),
      'an answer that nobody asked for': (at) => at.heard(released, false),
      'the answer of something else': (at) => {
        at.sent(claim);
        at.heard(released, false);
      },
      'a word that is none': (at) =>
        at.heard(text({ type: 'error', correlationId: 'c', error }), false),
      'a close code': (at) => at.closed(4999, 'x'),
      'a close code of another channel': (at) => at.closed(closeCodes.released, 'released:c'),
      'the reason of another code': (at) => at.closed(closeCodes.timeout, 'bad_message:c'),
    } satisfies Record<
      string,
      (at: ReturnType<ReturnType<typeof createComparison>['of']>) => void
    >)) {
      assert.equal(faultsOf((comparison) => use(comparison.of(posListener))).length, 1, what);
    }
    assert.throws(() => createComparison().of('/cloud-connector/v1/elsewhere'), /no channel/);
  });

  it('reports no fault for documented messages and close codes', () => {
    const good = faultsOf((comparison) => {
      const at = comparison.of(posListener);
      at.sent(JSON.stringify(exampleOf('Claim')));
      at.heard(text(exampleOf('Claimed')), false);
      at.heard(text({ type: 'deviceStatus', tsn: '1', online: true, claimed: false }), false);
      at.closed(closeCodes.timeout, 'timeout:c');
      comparison.of(deviceListener).closed(closeCodes.done, 'registered');
      comparison.of(deviceListener).closed(closeCodes.messageTooLarge, '');
    });
    assert.deepEqual(good, []);
  });
});
