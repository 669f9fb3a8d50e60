import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postgresConfiguration } from './server-configuration.ts';

test('the configuration contains a setting only from the version that has it', () => {
  assert.doesNotMatch(postgresConfiguration(17), /^io_method/m);
  assert.match(postgresConfiguration(18), /^io_method = 'sync'$/m);
});
