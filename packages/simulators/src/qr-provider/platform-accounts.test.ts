// The platform settings of the reference provider: one account, or one for each of its services.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { platformAccountsFromFile } from './platform-accounts.ts';

const account = (name: string) => ({
  signingSecrets: [`whsec_${name}`],
  tokenUrl: `http://127.0.0.1:9/${name}/token`,
  clientId: name,
  clientSecret: `secret of ${name}`,
});

describe('the platform of a reference provider', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'qr-provider-platform-'));
  });
  after(() => rmSync(directory, { recursive: true }));

  it('has the secrets of all accounts, and an account for each service', () => {
    const file = join(directory, 'several.json');
    const faults: unknown[] = [];
    const platform = platformAccountsFromFile(file, (fault) => faults.push(fault));
    assert.deepEqual([platform.secrets(), platform.client()], [[], undefined]);
    const others = [{ serviceId: 'two', ...account('second') }];
    const facts = { ...account('first'), baseUrl: 'http://127.0.0.1:9', accounts: others };
    writeFileSync(file, JSON.stringify(facts));
    assert.deepEqual(platform.secrets(), ['whsec_first', 'whsec_second']);
    const [first, second] = [platform.client('one'), platform.client('two')];
    assert.ok(first !== undefined && second !== undefined && first !== second);
    assert.equal(platform.client(), first, 'a call without a service uses the first account');
    assert.deepEqual(faults, []);
    platform.close();
  });

  it('reports the missing member of an account without a secret', () => {
    const file = join(directory, 'wrong.json');
    const faults: string[] = [];
    const platform = platformAccountsFromFile(file, (fault) => faults.push(String(fault)));
    const { clientSecret: _none, ...rest } = account('second');
    for (const [accounts, says] of [
      [{}, /accounts that are no list/],
      [[account('second')], /an account without a serviceId/],
      [[{ serviceId: 'two', ...rest }], /no clientSecret/],
    ] as const) {
      writeFileSync(file, JSON.stringify({ ...account('first'), baseUrl: 'x', accounts }));
      assert.deepEqual(platform.secrets(), []);
      assert.match(faults.at(-1) ?? '', says);
      assert.doesNotMatch(faults.join(), /secret of|whsec/);
    }
    platform.close();
  });
});
