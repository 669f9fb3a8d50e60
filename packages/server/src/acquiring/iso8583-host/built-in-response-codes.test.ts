import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseCodeFacts } from '@switchyard/contract';
import { builtInHosts } from '@switchyard/iso8583';

test('each response code of a built-in host is in the response code table', () => {
  let codeCount = 0;
  for (const host of Object.values(builtInHosts)) {
    if (!('responseCodes' in host)) continue;
    for (const [said, meant] of Object.entries(host.responseCodes.financial)) {
      codeCount += 1;
      assert.ok(responseCodeFacts(meant).known, `${said} as ${meant}`);
      assert.deepEqual(responseCodeFacts(said), responseCodeFacts(meant), `${said} as ${meant}`);
    }
  }
  assert.ok(codeCount >= 40, `${codeCount} codes`);
});

test('the built-in 1993 host maps each known action code to a 1987 response code', () => {
  const { financial } = builtInHosts['iso1993-ascii'].responseCodes;
  const codes = Array.from({ length: 1000 }, (_, code) => String(code).padStart(3, '0'));
  // Acquirer-specific approval codes have no 1987 equivalent.
  const knownCodes = codes.filter(
    (code) => responseCodeFacts(code).known && !/^0(?!0[0-7])/.test(code),
  );
  assert.ok(knownCodes.length >= 70, `${knownCodes.length} codes`);
  assert.deepEqual(
    knownCodes.filter((code) => !Object.hasOwn(financial, code)),
    [],
  );
});

test('codes for host malfunction and cutover are retryable technical failures', () => {
  for (const code of ['09', '68', '90', '91', '92', '96', '906', '916', '923']) {
    const { category, retry } = responseCodeFacts(code);
    assert.deepEqual([category, retry], ['TechnicalFailure', 'Later'], code);
  }
});
