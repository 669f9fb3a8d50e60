import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseCodeFacts } from '@switchyard/contract';
import { builtInHosts } from '@switchyard/iso8583';

test('what the hosts that are built in may say is known, in their codes and in ours', () => {
  let seen = 0;
  for (const host of Object.values(builtInHosts)) {
    if (!('responseCodes' in host)) continue;
    for (const [said, meant] of Object.entries(host.responseCodes.financial)) {
      seen += 1;
      assert.ok(responseCodeFacts(meant).known, `${said} as ${meant}`);
      assert.deepEqual(responseCodeFacts(said), responseCodeFacts(meant), `${said} as ${meant}`);
    }
  }
  assert.ok(seen >= 40, `${seen} codes`);
});

test('an action code of 1993 that we know is turned into one of 1987 by the host that is built in', () => {
  const { financial } = builtInHosts['iso1993-ascii'].responseCodes;
  const codes = Array.from({ length: 1000 }, (_, code) => String(code).padStart(3, '0'));
  // What approves in a way of an acquirer's own has no code of 1987.
  const known = codes.filter((code) => responseCodeFacts(code).known && !/^0(?!0[0-7])/.test(code));
  assert.ok(known.length >= 70, `${known.length} codes`);
  assert.deepEqual(
    known.filter((code) => !Object.hasOwn(financial, code)),
    [],
  );
});

test('a host that is out of order, or changes its day, is asked again later', () => {
  for (const code of ['09', '68', '90', '91', '92', '96', '906', '916', '923']) {
    const { category, retry } = responseCodeFacts(code);
    assert.deepEqual([category, retry], ['TechnicalFailure', 'Later'], code);
  }
});
