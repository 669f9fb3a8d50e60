import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemText, readProblemBody } from './read-problem-body.ts';

test('a refusal is read from a problem and from an OAuth error', () => {
  const problem = { title: 'Role', code: 'role_missing', detail: 'The application has no role.' };
  const oauth = { error: 'invalid_client', error_description: 'client authentication failed' };
  const cases: [unknown, string][] = [
    [problem, '403 role_missing: The application has no role.'],
    [oauth, '403 invalid_client: client authentication failed'],
    [{ error: 'invalid_scope' }, '403 invalid_scope'],
    [{ title: 'Not found' }, '403: Not found'],
    [{}, '403'],
    [null, '403'],
    [[1], '403'],
    ['role_missing', '403'],
    [{ code: 403, detail: { text: 'x' } }, '403'],
  ];
  for (const [body, text] of cases) {
    assert.equal(problemText(403, readProblemBody(JSON.stringify(body))), text);
  }
  for (const body of ['', '<html>', '{"code":']) assert.deepEqual(readProblemBody(body), {});
});

test('a text of another server becomes one short line, and its code has the form of a code', () => {
  const body = {
    code: 'not a code\n',
    detail: `first\r\nsecond\u001b[31m\u2028${'x'.repeat(400)}`,
  };
  const { code, detail } = readProblemBody(JSON.stringify(body));
  assert.equal(code, undefined);
  assert.equal(detail?.length, 300);
  assert.match(String(detail), /^first second \[31m x+$/);
});
