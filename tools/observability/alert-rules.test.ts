// The alerts of deploy/alerts: promtool accepts and tests them, and each has a section in the runbook.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { describeApplication } from '../generate/application-description.ts';
import { dashboards } from '../generate/dashboards/dashboards.ts';
import { repositoryRoot } from '../repository-root.ts';
import { ruleFiles, rules, ruleTestFiles } from './alert-rules.ts';
import { prometheusSkipReason, promtool } from './prometheus.ts';

const runbookPath = 'how-to/operators/respond-to-alerts';
const runbook = readFileSync(join(repositoryRoot, `docs/${runbookPath}.md`), 'utf8');
const alertNames = rules.flatMap(({ alert }) => alert ?? []);

describe('alert rules', () => {
  it('are valid, and fire as their tests say', { skip: prometheusSkipReason }, () => {
    promtool(['check', 'rules', ...ruleFiles]);
    promtool(['test', 'rules', ...ruleTestFiles]);
  });

  it('are loaded by the configuration of the guide', { skip: prometheusSkipReason }, async (t) => {
    const guide = readFileSync(
      join(repositoryRoot, 'docs/how-to/operators/monitor-the-platform.md'),
    );
    const [, config = ''] = /```yaml\n(.+?)```/s.exec(String(guide)) ?? [];
    const folder = await mkdtemp(join(tmpdir(), 'switchyard-prometheus-'));
    t.after(() => rm(folder, { recursive: true }));
    const file = join(folder, 'prometheus.yaml');
    await writeFile(file, config.replace('/opt/switchyard', repositoryRoot));
    const output = promtool(['check', 'config', file]);
    for (const ruleFile of ruleFiles) assert.ok(output.includes(ruleFile), output);
  });

  it('each fire in a test', () => {
    const tests = ruleTestFiles.map((file) => readFileSync(file, 'utf8')).join('\n');
    for (const name of alertNames) assert.match(tests, new RegExp(`\\b${name}\\b`), name);
  });

  it('each link to their section of the runbook, which has no other section', () => {
    const headings = [...runbook.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading);
    assert.deepEqual(headings.toSorted(), [...new Set(alertNames)].toSorted());
    for (const { alert, annotations } of rules) {
      if (alert === undefined) continue;
      // The documentation site makes the anchor of a heading in lower case.
      const url = `{{ $externalLabels.docs_url }}/${runbookPath}#${alert.toLowerCase()}`;
      assert.equal(annotations?.['runbook_url'], url, alert);
    }
  });

  it('have a severity and a summary of one sentence or two', () => {
    for (const { alert, labels, annotations } of rules) {
      if (alert === undefined) continue;
      assert.match(labels?.['severity'] ?? '', /^(?:page|ticket)$/, alert);
      assert.match(annotations?.['summary'] ?? '', /^[A-Z].*\.$/, alert);
    }
  });

  it('and dashboards use metrics that the platform has', async () => {
    const { metrics } = await describeApplication();
    const metricNames = new Set([
      ...metrics.flatMap(({ name, type }) =>
        type === 'histogram' ? [`${name}_count`, `${name}_bucket`] : [name],
      ),
      // HSM metrics exist only with an HSM.
      'switchyard_hsm_up',
    ]);
    const queries = dashboards.flatMap(({ panels }) =>
      panels.flatMap((panel) => Object.values(panel.queries)),
    );
    for (const expression of [...queries, ...rules.map(({ expr }) => expr)])
      for (const [name] of expression.matchAll(/(?<!:)\bswitchyard_\w+/g))
        assert.ok(metricNames.has(name), `no metric has the name ${name}`);
  });
});
