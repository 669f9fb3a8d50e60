import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { test } from 'node:test';
import { lowerGcThreadPriority } from './gc-thread-priority.ts';

const nameOf = (id: string) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim();

test('only garbage collection threads get a lower priority', () => {
  const ids = readdirSync('/proc/self/task');
  const before = getPriority();
  const engineCount = lowerGcThreadPriority({ warn: () => assert.fail('it was not possible') });
  const engines = ids.filter((id) => nameOf(id) === 'V8Worker');
  assert.ok(engines.length > 0);
  assert.equal(engineCount, engines.length);
  for (const id of ids) {
    assert.equal(getPriority(Number(id)), engines.includes(id) ? 10 : before, nameOf(id));
  }
});
