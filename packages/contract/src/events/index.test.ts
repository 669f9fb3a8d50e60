import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Check } from 'typebox/value';
import {
  eventDefinitions,
  eventTypes,
  isEventPattern,
  isEventType,
  matchesEventType,
  publishedActions,
} from './index.ts';

describe('the catalogue of events', () => {
  // Spec: EVT-10
  test('names each type once, in the form of Standard Webhooks, with a description and an example', () => {
    assert.equal(new Set(eventTypes).size, eventTypes.length);
    for (const [type, { description, data, example }] of eventDefinitions) {
      assert.match(type, /^[a-z_]+\.[a-z_]+$/);
      assert.match(description, /\.$/, type);
      assert.ok(Check(data, example), `the example of ${type}`);
      assert.ok(JSON.stringify(example).length < 2000);
    }
  });

  test('an example without a needed member, or with a wrong one, does not pass its own schema', () => {
    for (const [type, { data, example }] of eventDefinitions) {
      for (const member of data.required ?? []) {
        const { [member]: _gone, ...rest } = example;
        assert.ok(!Check(data, rest), `${type} without ${member}`);
      }
      assert.ok(!Check(data, { ...example, sequence: 'one' }), type);
      assert.ok(Check(data, { ...example, memberOfNextYear: true }), `${type} is open`);
    }
  });

  test('the intent of a sale is not published, and nothing of keys and vaults', () => {
    assert.ok(!isEventType('transaction.received'));
    assert.ok(!eventTypes.some((type) => /^(?:vault|user_domain)\./.test(type)));
  });

  test('an action of the audit is published under a name of the catalogue', () => {
    for (const [action, type] of publishedActions) {
      assert.ok(isEventType(type), `${action} as ${type}`);
    }
    assert.equal(publishedActions.get('logicalDevice.created'), 'logical_device.created');
    assert.equal(publishedActions.get('vault.keyReplaced'), undefined);
  });

  test('patterns want one type, one family or all', () => {
    assert.ok(matchesEventType(['*'], 'transaction.captured'));
    assert.ok(matchesEventType(['batch.completed', 'transaction.*'], 'transaction.captured'));
    assert.ok(!matchesEventType(['transaction.capture'], 'transaction.captured'));
    assert.ok(!matchesEventType(['trans.*'], 'transaction.captured'));
    assert.ok(!matchesEventType([], 'transaction.captured'));
    assert.ok(isEventPattern('qr.*'));
    assert.ok(!isEventPattern('nothing.*'));
    assert.ok(!isEventPattern('transaction.'));
    assert.ok(!isEventPattern('.*'));
    assert.ok(!isEventPattern('constructor'));
  });
});
