import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { createLazyRequestLog } from './request-logging.ts';

function createSetup(level: string) {
  const lines: Record<string, unknown>[] = [];
  const parent = pino({ level }, { write: (line: string) => lines.push(JSON.parse(line)) });
  let made = 0;
  const log = createLazyRequestLog(parent, () => {
    made += 1;
    return parent.child({ requestId: 'one' });
  });
  return { log, lines, made: () => made };
}

describe('the log of a request', () => {
  it('is created once, with the first written line', () => {
    const { log, lines, made } = createSetup('info');
    log.debug({ secret: 1 }, 'too quiet');
    assert.equal(made(), 0);
    log.info({ status: 200 }, 'done');
    log.error('and %s', 'more');
    log.silent('never');
    log.child({ part: 'two' }).warn('child');
    assert.equal(made(), 1);
    assert.deepEqual(
      lines.map(({ msg, requestId, part }) => [msg, requestId, part]),
      [
        ['done', 'one', undefined],
        ['and more', 'one', undefined],
        ['child', 'one', 'two'],
      ],
    );
    assert.equal(lines[0]?.['status'], 200);
  });

  it('has the level of its parent, and every log method', () => {
    const { log, lines } = createSetup('trace');
    const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
    for (const level of levels) log[level](level);
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      levels,
    );
    assert.equal(log.level, 'trace');
  });
});
