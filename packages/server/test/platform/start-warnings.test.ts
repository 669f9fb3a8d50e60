// Whole run: commands as users start them, each a process of its own.
// Warnings about settings are in the log of each start, also if the start fails later.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePorts } from '../support/free-ports.ts';
import { startInProduction } from '../support/processes/production-start.ts';

test('an allowed plain connection and an unknown setting are warnings in the log of a start in production', async (t) => {
  const [noDatabase] = await freePorts(1);
  const { lines, stdout, stderr } = await startInProduction(t, {
    // No server listens there, so the start ends.
    SWITCHYARD_DATABASE_URL: `postgresql://switchyard@127.0.0.1:${noDatabase}/pay`,
    SWITCHYARD_SMTP_URL: 'smtp://mail.example',
    SWITCHYARD_PLAIN_CONNECTIONS: 'mail',
    SWITCHYARD_OF_A_LATER_VERSION: 'on',
  });
  const warnings = lines
    .filter(({ level }) => level === 'warn')
    .map(({ msg }) => msg.split(' ', 1)[0]);
  assert.deepEqual(
    warnings.slice(0, 2),
    ['SWITCHYARD_OF_A_LATER_VERSION', 'SWITCHYARD_SMTP_URL'],
    stdout + stderr,
  );
});
