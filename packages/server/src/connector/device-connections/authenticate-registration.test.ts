import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConnectorFault } from '../protocol/connector-fault.ts';
import { readRegistration } from './authenticate-registration.ts';

const credentials = { clientId: 'c', secret: 's' };

describe('the reader of a device registration', () => {
  // Spec: CC-12 JSON-7
  it('finds the credentials wherever devices put them', () => {
    const snake = { client_id: 'c', client_secret: 's' };
    const camel = { clientId: 'c', clientSecret: 's' };
    for (const overrides of [
      snake,
      camel,
      { customRegistrationData: snake },
      { custom_registration_data: camel },
      { custom_registration_data: JSON.stringify(snake) },
    ]) {
      const text = JSON.stringify({
        type: 'register',
        tsn: 'A_B-1',
        model: 'unknown',
        ...overrides,
      });
      assert.deepEqual(readRegistration(text), { tsn: 'A_B-1', credentials });
    }
    assert.deepEqual(readRegistration('{"tsn":"1"}'), { tsn: '1' });
  });

  it('refuses an invalid message and incomplete credentials', () => {
    const codeOf = (message: string) => {
      try {
        readRegistration(message);
        return 'none';
      } catch (error) {
        assert.ok(error instanceof ConnectorFault);
        return error.code;
      }
    };
    for (const bad of [
      '',
      'null',
      '"x"',
      '{}',
      '{"tsn":1}',
      '{"tsn":"1","client_id":[],"client_secret":"s"}',
    ]) {
      assert.equal(codeOf(bad), 'bad_message', bad);
    }
    assert.equal(codeOf('{"tsn":"1","client_id":"c"}'), 'unauthorized');
    assert.equal(
      codeOf('{"tsn":"1","customRegistrationData":"no JSON","clientId":"c"}'),
      'unauthorized',
    );
  });
});
