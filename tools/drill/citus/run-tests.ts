// Runs tests of the platform on the cluster.
import { citusNodesVariable } from '../../../packages/server/test/support/database/citus-nodes.ts';
import { runTestFiles } from '../../test-runner/run-test-files.ts';
import type { Cluster } from './cluster.ts';
import { citusTestFiles } from './test-files.ts';

const limitMs = 30 * 60_000;
const workers = 2;

/** @returns the faults */
export async function runTests(cluster: Cluster): Promise<string[]> {
  const nodes = await cluster.nodes(workers);
  const urls = [nodes.coordinator, ...nodes.workers].join(',');
  const { faults, tests } = await runTestFiles(citusTestFiles, {
    runnerOptions: [],
    limitMs,
    startLimitMs: limitMs,
    env: { [citusNodesVariable]: urls },
  });
  console.log(`  ${tests} tests in ${citusTestFiles.length} files`);
  return faults.map(({ where, text }) => `${where}  ${text}`);
}
