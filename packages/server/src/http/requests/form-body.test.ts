import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { parseForm } from './form-body.ts';

const parse = (text: string) => ({ ...parseForm(Buffer.from(text, 'latin1')) });

describe('the body of an HTML form', () => {
  test('names and values are decoded', () => {
    assert.deepEqual(parse('a=1&b=x+y%20z&c=%C3%A9%26%3D&empty=&bare'), {
      a: '1',
      b: 'x y z',
      c: 'é&=',
      empty: '',
      bare: '',
    });
    assert.deepEqual(parse(''), {});
    const hostile = parseForm(Buffer.from('__proto__=x&constructor=y'));
    assert.deepEqual(Object.entries(hostile), [
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
  });

  for (const [fault, text, says] of [
    ['a field twice', 'a=1&b=2&a=1', /same field twice/],
    ['a field twice in two spellings', 'password=1&p%61ssword=2', /same field twice/],
    ['a broken escape', 'a=%zz', /invalid percent encoding/],
    ['an escape that is no UTF-8', 'a=%ff', /invalid percent encoding/],
    ['bytes that are no UTF-8', 'a=\xff', /not valid UTF-8/],
    ['U+0000', 'a=%00', /U\+0000/],
    ['too many fields', Array.from({ length: 33 }, (_, at) => `f${at}=`).join('&'), /more than 32/],
  ] as const) {
    test(`${fault} is rejected`, () => {
      assert.throws(
        () => parse(text),
        (error) =>
          error instanceof ProblemError &&
          error.code === 'request_malformed' &&
          says.test(error.detail),
      );
    });
  }
});
