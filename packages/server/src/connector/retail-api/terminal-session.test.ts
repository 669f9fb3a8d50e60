// Tests a terminal that does not answer, a terminal that sends other messages, and a stop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { answerTo, requestOf, writeMessage } from '@switchyard/nexo';
import type { MessageEndpoint } from '../forwarding/forward-messages.ts';
import { readTerminalRequest, responseKeyOf } from './read-request.ts';
import { openTerminalSession, type TerminalSession } from './terminal-session.ts';

type Device = {
  readonly line: TerminalSession;
  readonly end: MessageEndpoint;
  readonly heard: string[];
  hasLeft: boolean;
};

async function lineTo(): Promise<Device> {
  const heard: string[] = [];
  let end: MessageEndpoint | undefined;
  const device = { heard, hasLeft: false };
  const line = await openTerminalSession((endSession) => {
    end = endSession;
    return {
      receive: (data) => void heard.push(data.toString()),
      disconnected: () => {
        device.hasLeft = true;
      },
    };
  });
  assert.ok(line !== undefined && end !== undefined);
  return Object.assign(device, { line, end });
}

const codeOf = (pending: Promise<unknown>) =>
  pending.then(
    () => assert.fail('it was answered'),
    (error: unknown) => {
      assert.ok(error instanceof ProblemError);
      return [error.code, error.outcome, error.extensions?.['reason']];
    },
  );

test('a request ends as timeout with the outcome Unknown when the terminal does not answer in time', async () => {
  const { line, heard } = await lineTo();
  assert.deepEqual(await codeOf(line.request('key', 'text', 1)), ['timeout', 'Unknown', undefined]);
  assert.deepEqual(heard, ['text']);
});

test('a request ends as session_lost with the reason superseded when the session is taken over', async () => {
  const { line, end } = await lineTo();
  const pending = codeOf(line.request('key', 'text', 60_000));
  end.close(4001, 'superseded');
  assert.deepEqual(await pending, ['session_lost', 'Unknown', 'superseded']);
  assert.equal(line.isOpen(), false);
  assert.equal(line.send('more'), false);
});

test('a stop ends pending requests as session_lost and disconnects from the terminal', async () => {
  const device = await lineTo();
  const pending = codeOf(device.line.request('key', 'text', 60_000));
  device.line.end('restarting');
  assert.deepEqual(await pending, ['session_lost', 'Unknown', 'restarting']);
  assert.equal(device.hasLeft, true);
});

test('the server disconnects a terminal that sends too many unrelated messages', async () => {
  const device = await lineTo();
  const pending = codeOf(device.line.request('key', 'text', 60_000));
  for (let n = 0; n <= 2000; n += 1) device.end.send('noise');
  assert.deepEqual(await pending, ['session_lost', 'Unknown', 'rate_limited']);
  assert.equal(device.hasLeft, true);
});

// Spec: NEXO-27
test('the answer to a service is known by its ServiceID, and that of a device by its DeviceID too', async () => {
  const { line, end } = await lineTo();
  const pair = { saleId: 'till', poiId: 'P-1', serviceId: 'S1' };
  const request = requestOf('Diagnosis', pair, {});
  const { responseKey: key, text } = readTerminalRequest(Buffer.from(writeMessage(request)));
  const pending = line.request(key, text, 60_000);
  const { header, body } = answerTo(request, { Response: { Result: 'Success' } });
  end.send(writeMessage({ header: { ...header, DeviceID: 'D9' }, body }));
  const { reading } = await pending;
  assert.ok(reading.kind === 'Message' && reading.message.header.DeviceID === 'D9');
  const device = { ...request.header, MessageClass: 'Device', MessageCategory: 'Display' } as const;
  const keys = ['D1', 'D2'].map((DeviceID) => responseKeyOf({ ...device, DeviceID }));
  assert.notEqual(keys[0], keys[1]);
});
