// Times `npm start`: on a new data directory, then on the same one again.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type CloseStack, createCloseStack } from '../close-in-reverse-order.ts';
import { makeFolder } from './platform.ts';
import { startServer } from './server-process.ts';

export type StartTimes = { firstSeconds: number; secondSeconds: number };

/**
 * From the start of the command to the first answered request. The first one also has to compile
 * everything, as after a fresh clone: it begins with an empty compile cache.
 */
export async function measureStartTimes(outer: CloseStack): Promise<StartTimes> {
  const closers = createCloseStack();
  outer.add(closers.close);
  const folder = makeFolder(closers, false);
  const dataDir = join(folder, 'platform');
  const compileCache = join(folder, 'compile-cache');
  mkdirSync(dataDir);
  mkdirSync(compileCache);
  const variables = { NODE_COMPILE_CACHE: compileCache };
  const first = await startServer(closers, { dataDir, way: 'npm start', variables });
  await first.stop();
  const second = await startServer(closers, { dataDir, way: 'npm start', variables });
  await second.stop();
  await closers.close();
  return { firstSeconds: first.startSeconds, secondSeconds: second.startSeconds };
}
