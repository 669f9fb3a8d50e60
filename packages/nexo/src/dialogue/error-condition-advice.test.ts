import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { defined } from '../defined.ts';
import { answerTo, requestOf } from '../messages/build-message.ts';
import { findFaults } from '../messages/write-message.ts';
import { openSets } from '../table/value-sets.ts';
import {
  availabilityAfterEvent,
  conditionFacts,
  errorConditions,
  resultOf,
} from './error-condition-advice.ts';
import { buildEventNotification } from './event-notifications.ts';
import { createServiceIds } from './service-ids.ts';

const address = { saleId: 'till-3', poiId: 'terminal-1', serviceId: '42', deviceId: '1' };
const output = { Device: 'CustomerDisplay', InfoQualify: 'Display' } as const;

test('each of the seventeen conditions has a meaning, an unknown one is looked at', () => {
  assert.deepEqual(
    Object.keys(errorConditions).toSorted(),
    [...openSets.ErrorCondition].toSorted(),
  );
  assert.equal(Object.keys(errorConditions).length, 17);
  const open = Object.entries(errorConditions).filter(([, { advice }]) => advice === 'Ask');
  assert.deepEqual(
    open.map(([name]) => name),
    ['InProgress'],
  );
  assert.equal(conditionFacts('SolarStorm').advice, 'Call');
  assert.equal(conditionFacts('constructor').advice, 'Call');
});

test('the result of a response is found in each message category', () => {
  const content = { OutputFormat: 'Text' as const, OutputText: [{ Text: 'x' }] };
  const display = requestOf('Display', address, {
    DisplayOutput: [{ ...output, OutputContent: content }],
  });
  const failed = { Result: 'Failure', ErrorCondition: 'DeviceOut' } as const;
  const results = [
    { ...output, Response: { Result: 'Success' as const } },
    { ...output, Response: failed },
  ];
  assert.deepEqual(resultOf(answerTo(display, { OutputResult: results })), failed);
  const input = requestOf('Input', address, {
    InputData: { Device: 'CustomerInput', InfoQualify: 'Input', InputCommand: 'GetAnyKey' },
  });
  const answer = answerTo(input, {
    OutputResult: { ...output, Response: { Result: 'Success' } },
    InputResult: { Device: 'CustomerInput', InfoQualify: 'Input', Response: failed },
  });
  assert.deepEqual(resultOf(answer), failed);
  assert.equal(resultOf(requestOf('Admin', address, {})), undefined);
});

test('events report whether the terminal is available', () => {
  assert.equal(availabilityAfterEvent('BeginMaintenance'), false);
  assert.equal(availabilityAfterEvent('Initialised'), true);
  for (const event of ['CardInserted', 'Reject', 'toString', '']) {
    assert.equal(availabilityAfterEvent(event), undefined);
  }
  const at = '2026-03-01T10:00:00.000Z';
  for (const event of openSets.EventToNotify.filter((name) => name !== 'Reject')) {
    const message = buildEventNotification(event, address, {
      at,
      details: 'x',
      maintenanceRequired: true,
    });
    assert.deepEqual(findFaults(message), []);
  }
});

test('identifications are ten characters, rise, and go on over a restart with a clock put back', () => {
  const draws = fc.array(fc.tuple(fc.integer({ min: -5_000, max: 5_000 }), fc.nat({ max: 1023 })), {
    minLength: 1,
    maxLength: 60,
  });
  fc.assert(
    fc.property(draws, (draw) => {
      let now = Date.parse('2026-03-01T10:00:00.000Z');
      let drawn = 0;
      let last: string | undefined;
      const usedIds = new Set<string>();
      for (const [ms, random] of draw) {
        now += ms;
        drawn = random;
        const next = createServiceIds({
          now: () => now,
          randomBelow: () => drawn,
          ...defined({ last }),
        });
        for (const id of [next(), next()]) {
          assert.match(id, /^[0-9A-Z]{10}$/);
          assert.ok(last === undefined || id > last);
          usedIds.add(id);
          last = id;
        }
      }
      assert.equal(usedIds.size, draw.length * 2);
    }),
  );
  const next = createServiceIds({ now: () => 5, randomBelow: () => 1, last: 'not one of ours' });
  assert.equal(next(), '00000003Y9');
});
