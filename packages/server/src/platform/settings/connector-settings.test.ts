// NATS settings: allowed URLs and credentials, and TLS for other machines in production.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  connectorProductionRules,
  connectorRules,
  connectorSettings,
} from './connector-settings.ts';

const noSettings = {
  natsUrl: undefined,
  natsCaFile: undefined,
  natsCertFile: undefined,
  natsKeyFile: undefined,
  natsCredentialsFile: undefined,
};
type NatsSettings = { [Name in keyof typeof noSettings]?: string };

const faultsOf = (settings: NatsSettings) =>
  connectorRules
    .map((rule) => rule({ ...noSettings, ...settings }))
    .filter((fault) => fault !== false);
const inProduction = (settings: NatsSettings) =>
  connectorProductionRules
    .map((rule) => rule({ ...noSettings, ...settings }))
    .filter((fault) => fault);

describe('NATS settings', () => {
  test('the URL names the servers of one cluster', () => {
    const { read } = connectorSettings.natsUrl;
    for (const good of [
      'nats://localhost',
      'nats://u:p%40ss@127.0.0.1:4222',
      'tls://token@nats.internal:4222, tls://other.internal:4222',
      'nats://[::1]:4222',
    ]) {
      assert.equal(read(good), good);
    }
    for (const [wrong, why] of Object.entries({
      'http://localhost': /starts with/,
      'nats://localhost/path': /only credentials, host and port/,
      'nats://u:%zz@localhost': /percent-encoded/,
      'nats://a,tls://b': /mixes/,
      'nats://a,nats://u:p@b': /other than the first/,
      'nats://a,': /starts with/,
      [Array.from({ length: 9 }, (_, at) => `nats://n${at}`).join(',')]: /more than 8/,
    })) {
      assert.throws(() => read(wrong), why, wrong);
    }
  });

  test('certificates need a pair and TLS, and credentials have one source', () => {
    const natsUrl = 'tls://nats.internal';
    assert.deepEqual(faultsOf({}), []);
    assert.deepEqual(
      faultsOf({ natsUrl, natsCertFile: 'c', natsKeyFile: 'k', natsCaFile: 'a' }),
      [],
    );
    assert.match(String(faultsOf({ natsUrl, natsCertFile: 'c' })), /set together/);
    assert.match(String(faultsOf({ natsUrl: 'nats://localhost', natsCaFile: 'a' })), /must be tls/);
    assert.deepEqual(faultsOf({ natsUrl, natsCredentialsFile: 'f' }), []);
    const twice = { natsUrl: 'tls://u:p@nats.internal', natsCredentialsFile: 'f' };
    assert.match(String(faultsOf(twice)), /without credentials/);
    assert.match(String(faultsOf({ natsCredentialsFile: 'f' })), /needs a SWITCHYARD_NATS_URL/);
  });

  test('production uses other machines only with TLS and credentials', () => {
    for (const natsUrl of [
      'nats://u:p@nats.internal',
      'nats://u:p@10.0.0.4:4222',
      'nats://u:p@localhost,nats://nats.internal',
      'nats://u:p@[2001:db8::1]:4222',
    ]) {
      assert.match(
        String(inProduction({ natsUrl })),
        /must be tls:\/\/ for other machines/,
        natsUrl,
      );
    }
    for (const natsUrl of ['nats://localhost', 'nats://127.0.0.1:4222', 'nats://[::1]:4222']) {
      assert.deepEqual(inProduction({ natsUrl }), [], natsUrl);
    }
    const natsUrl = 'tls://nats.internal';
    assert.match(String(inProduction({ natsUrl })), /must hold credentials/);
    assert.deepEqual(inProduction({ natsUrl, natsCertFile: 'c' }), []);
    assert.deepEqual(inProduction({ natsUrl, natsCredentialsFile: 'f' }), []);
    assert.deepEqual(inProduction({ natsUrl: 'tls://u:p@nats.internal' }), []);
  });
});
