// Item 4: production does not start with plain connections beyond the machine, unless a setting allows them.
import type { Attack } from '../attack.ts';
import { recordRefusedStart } from '../refused-start.ts';

const databaseModes = [
  '',
  '?sslmode=disable',
  '?sslmode=prefer',
  '?sslmode=no-verify',
  '?sslmode=allow',
];
const remoteDatabases = [
  ...databaseModes.map((mode) => `postgresql://user:secret@db.example:5432/pay${mode}`),
  'postgresql://user:secret@127.0.0.1,db.example/pay',
  'postgresql://user:secret@10.0.0.1/pay?ssl=0',
  'postgresql://user:secret@pay/pay?host=db.example',
];
const remoteMail = [
  'smtp://mail.example',
  'smtp://10.0.0.9:25',
  'smtp://user:secret@[fd00::9]:587',
];
const openMetrics = ['0.0.0.0', '::', '10.0.0.1', 'metrics.example'];

export const plainConnectionSettingsAttack: Attack = {
  item: 4,
  name: 'production with plain metrics, database or mail',
  async run(attempts, platforms) {
    const production = await platforms.production();
    const refused = (changes: Record<string, string>) =>
      recordRefusedStart(attempts, production, {
        changes,
        faults: Object.keys(changes).map((name) => new RegExp(name)),
      });
    for (const url of remoteDatabases) await refused({ SWITCHYARD_DATABASE_URL: url });
    for (const url of remoteMail) await refused({ SWITCHYARD_SMTP_URL: url });
    for (const host of openMetrics) await refused({ SWITCHYARD_METRICS_HOST: host });
    await refused({
      SWITCHYARD_DATABASE_URL: remoteDatabases[0] ?? '',
      SWITCHYARD_SMTP_URL: remoteMail[0] ?? '',
      SWITCHYARD_METRICS_HOST: '0.0.0.0',
    });
    const node = await production.platform.startProcess({
      SWITCHYARD_METRICS_HOST: '0.0.0.0',
      SWITCHYARD_PLAIN_CONNECTIONS: 'metrics',
    });
    await node.stop();
    attempts.requireControl(
      'metrics over HTTP start where the operator allows them',
      node.ended === undefined,
    );
  },
};
