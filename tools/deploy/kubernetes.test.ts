import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Ajv } from 'ajv';
import type { HTTPGetAction } from 'kubernetes-types/core/v1.js';
import { parse, parseAllDocuments } from 'yaml';
import {
  createLog,
  createMetrics,
  createMonitoringListener,
} from '../../packages/server/src/platform/index.ts';
import { repositoryRoot } from '../repository-root.ts';
import {
  checkKubernetesDocuments,
  type DocumentSource,
  type KubernetesDocument,
} from './check-kubernetes-documents.ts';
import {
  isFileSetting,
  readContainerSettings,
  settingNames,
  type Variables,
} from './container-settings.ts';
import type { KubernetesDocuments } from './kubernetes-documents.ts';

const folder = join(repositoryRoot, 'deploy/kubernetes');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const parseDocuments = (text: string): KubernetesDocument[] =>
  parseAllDocuments(text).map((document) => document.toJS());

const files = globSync('**/*.yaml', { cwd: folder })
  .filter((file) => !file.endsWith('kustomization.yaml'))
  .sort();
const sources: readonly DocumentSource[] = files.flatMap((file) =>
  parseDocuments(read(file)).map((document) => ({
    file,
    document,
    isPatch: file.endsWith('.patch.yaml'),
  })),
);

/** CloudNativePG's Cluster is not in the document of Kubernetes. */
const isKubernetesObject = ({ document }: DocumentSource) => document.kind !== 'Cluster';

function assertValid(documents: readonly DocumentSource[]) {
  assert.deepEqual(checkKubernetesDocuments(documents.filter(isKubernetesObject)), []);
  const schema = JSON.parse(
    readFileSync(join(import.meta.dirname, 'cloudnative-pg-cluster.schema.json'), 'utf8'),
  );
  const ajv = new Ajv({ allErrors: true });
  for (const source of documents.filter((one) => !isKubernetesObject(one)))
    assert.ok(ajv.validate(schema, source.document), `${source.file}: ${ajv.errorsText()}`);
}

describe('the Kubernetes objects', () => {
  test('agree with the OpenAPI documents of Kubernetes and CloudNativePG', () => {
    assert.ok(sources.length > 20);
    assertValid(sources);
  });

  test('the check reports an unknown and a missing member, and a wrong type', () => {
    const source = sources.find(({ document }) => document.kind === 'HorizontalPodAutoscaler');
    assert.ok(source);
    const { spec } = source.document as unknown as { spec: object };
    const changed = (change: object) => ({
      ...source,
      document: { ...source.document, spec: { ...spec, ...change } },
    });
    const errors = checkKubernetesDocuments([
      changed({ maxReplica: 3 }),
      changed({ maxReplicas: undefined }),
      changed({ minReplicas: 'two' }),
    ]);
    assert.equal(errors.length, 3, errors.join('\n'));
    assert.match(errors[0] ?? '', /autoscaler\.yaml: .*maxReplica/);
  });

  test('name only settings of the server and files of the repository', () => {
    for (const { file, document } of sources)
      for (const [name = ''] of JSON.stringify(document).matchAll(/\bSWITCHYARD_\w+/g))
        assert.ok(settingNames.has(name), `${file}: ${name}`);
    for (const overlay of ['small', 'large'])
      for (const name of Object.keys(readSettingsFile(overlay)))
        assert.ok(settingNames.has(name), `${overlay}: ${name}`);
    const commands = sources.flatMap(
      ({ document }) =>
        /"command":\["node",.*?"([^"]+\.ts)"/.exec(JSON.stringify(document))?.[1] ?? [],
    );
    assert.deepEqual(commands.sort(), ['packages/server/src/main.ts', 'tools/admin/main.ts']);
    for (const script of commands) assert.ok(existsSync(join(repositoryRoot, script)), script);
  });

  test('the probes have paths of the monitoring listener', async (t) => {
    const listener = createMonitoringListener({
      host: '127.0.0.1',
      port: 0,
      metrics: createMetrics({ processMetrics: false }),
      log: createLog({ logLevel: 'silent', instanceName: 'test' }),
      checks: {},
      dependencies: {},
    });
    const port = await listener.listen();
    t.after(() => listener.close());
    const { containers = [] } =
      documentOf('base/deployment.yaml', 'Deployment').spec?.template.spec ?? {};
    const [container] = containers;
    assert.ok(container);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
      const request: HTTPGetAction | undefined = container[probe]?.httpGet;
      assert.equal(request?.port, 'metrics');
      assert.equal((await fetch(`http://127.0.0.1:${port}${request.path}`)).status, 200, probe);
    }
  });

  test('the Ingress sends each path of the production guide to a role that serves it', () => {
    const guide = readFileSync(
      join(repositoryRoot, 'docs/how-to/operators/run-in-production.md'),
      'utf8',
    );
    const expected = [...guide.matchAll(/^\| (?:`(\w+)`|every process) \| (`\/.*) \|$/gm)].flatMap(
      ([, role = 'identity', paths = '']) =>
        [...paths.matchAll(/`([^`]+)`/g)].map(([, path = '']) => `${path} switchyard-${role}`),
    );
    const { spec } = documentOf('overlays/large/ingress.yaml', 'Ingress');
    const actual = spec?.rules?.[0]?.http?.paths.map(
      ({ path, backend }) => `${path} ${backend.service?.name}`,
    );
    assert.ok(expected.length > 20);
    assert.deepEqual(actual?.sort(), expected.sort());
  });
});

function documentOf<Kind extends keyof KubernetesDocuments>(file: string, kind: Kind) {
  const source = sources.find((one) => one.file === file && one.document.kind === kind);
  assert.ok(source, file);
  return source.document as KubernetesDocuments[Kind];
}

function readSettingsFile(overlay: string): Variables {
  const lines = read(`overlays/${overlay}/settings.env`).trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

const version = spawnSync('kubectl', ['version', '--client'], { encoding: 'utf8' });
const hasKustomize5 = /Kustomize Version: v5\./.test(version.stdout ?? '');
const skip = hasKustomize5 ? false : 'needs kubectl with Kustomize 5';

function renderFolder(path: string): readonly KubernetesDocument[] {
  const { stdout, stderr, status } = spawnSync('kubectl', ['kustomize', path], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return parseDocuments(stdout);
}

const render = (overlay: string) => renderFolder(join(folder, 'overlays', overlay));

const ofKind = <Kind extends keyof KubernetesDocuments>(
  documents: readonly KubernetesDocument[],
  kind: Kind,
) =>
  documents.filter(
    (one) => one.kind === kind,
  ) as readonly unknown[] as readonly KubernetesDocuments[Kind][];

type Pod = NonNullable<NonNullable<KubernetesDocuments['Job']['spec']>['template']['spec']>;

/** The settings of the only container, with those of the ConfigMap. */
function variablesOf(pod: Pod, documents: readonly KubernetesDocument[]): Variables {
  const [container] = pod.containers;
  assert.ok(container);
  const name = container.envFrom?.[0]?.configMapRef?.name;
  const settings = ofKind(documents, 'ConfigMap').find(({ metadata }) => metadata?.name === name);
  assert.ok(settings, `ConfigMap ${name}`);
  const containerVariables = (container.env ?? []).map((one) => [one.name, one.value ?? 'pod-1']);
  return { ...settings.data, ...Object.fromEntries(containerVariables) };
}

/** Each file of a setting is in a Secret that the container mounts read-only. */
function assertFilesAreMounted(pod: Pod, variables: Variables) {
  const mounts = pod.containers[0]?.volumeMounts ?? [];
  for (const [name, file] of Object.entries(variables).filter(([one]) => isFileSetting(one))) {
    const mount = mounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`));
    assert.ok(mount?.readOnly, `${name}: ${file} is not mounted read-only`);
    const volume = pod.volumes?.find((one) => one.name === mount.name);
    assert.ok(volume?.secret, `${name}: ${file} is not in a Secret`);
  }
}

function assertHardened(pod: Pod) {
  const [container] = pod.containers;
  assert.equal(pod.securityContext?.runAsUser, 10_001);
  assert.equal(pod.securityContext?.runAsNonRoot, true);
  // Variables of a Service `switchyard` would be settings.
  assert.equal(pod.enableServiceLinks, false);
  assert.equal(pod.automountServiceAccountToken, false);
  assert.equal(container?.securityContext?.readOnlyRootFilesystem, true);
  assert.equal(container?.securityContext?.allowPrivilegeEscalation, false);
  assert.deepEqual(container?.securityContext?.capabilities, { drop: ['ALL'] });
  assert.equal(pod.securityContext?.seccompProfile?.type, 'RuntimeDefault');
}

const secretsOf = ({ volumes = [] }: Pod) =>
  volumes.flatMap(({ secret }) => secret?.secretName ?? []).sort();

const commonSecrets = ['switchyard-database-ca', 'switchyard-secrets', 'switchyard-tls'];
const secretsOfRoles: Readonly<Record<string, readonly string[]>> = {
  cards: ['switchyard-acquirer-certificates', 'switchyard-card-keys'],
  identity: ['switchyard-mail'],
  connector: ['switchyard-mail', 'switchyard-nats'],
  jobs: ['switchyard-mail'],
};

/** The ports of the outgoing connections of each policy that are not limited to pods. */
function portsToAddresses(policy: KubernetesDocuments['NetworkPolicy']) {
  return (policy.spec?.egress ?? []).flatMap(({ to, ports = [] }) => {
    assert.ok(to && to.length > 0, `${policy.metadata?.name}: every outgoing rule has its peers`);
    return to.some(({ ipBlock }) => ipBlock) ? ports.map(({ port }) => port) : [];
  });
}

describe('kubectl kustomize', { skip }, () => {
  for (const overlay of ['small', 'large']) {
    test(`renders the overlay ${overlay} into valid objects, whose settings the server accepts`, () => {
      const documents = render(overlay);
      assertValid(documents.map((document) => ({ file: overlay, document, isPatch: false })));
      const pods = [...ofKind(documents, 'Deployment'), ...ofKind(documents, 'Job')];
      for (const { metadata, spec } of pods) {
        const pod = spec?.template.spec;
        assert.ok(pod);
        assertHardened(pod);
        const variables = variablesOf(pod, documents);
        assertFilesAreMounted(pod, variables);
        const isJob = pod.restartPolicy === 'Never';
        const { port, devicePort, metricsPort, warnings } = readContainerSettings(
          isJob ? { ...variables, SWITCHYARD_ROLES: 'portal' } : variables,
        );
        assert.ok(!warnings.some((one) => one.includes('not a known setting')), metadata?.name);
        if (isJob) continue;
        assert.deepEqual(
          pod.containers[0]?.ports?.map(({ name, containerPort }) => [name, containerPort]),
          [
            ['api', port],
            ['devices', devicePort],
            ['metrics', metricsPort],
          ],
        );
      }
    });
  }

  test('the overlay small has one Deployment with all roles', () => {
    const documents = render('small');
    const [deployment, ...others] = ofKind(documents, 'Deployment');
    assert.equal(others.length, 0);
    const pod = deployment?.spec?.template.spec;
    assert.ok(pod);
    assert.equal(readContainerSettings(variablesOf(pod, documents)).roles.size, 5);
  });

  test('PostgreSQL of the overlay large accepts the connections of all pods', () => {
    const documents = render('large');
    const scalers = ofKind(documents, 'HorizontalPodAutoscaler');
    const pods = ofKind(documents, 'Deployment').map(({ metadata, spec }) => {
      const scaler = scalers.find((one) => one.spec?.scaleTargetRef.name === metadata?.name);
      return (scaler?.spec?.maxReplicas ?? spec?.replicas ?? 1) + 1;
    });
    const [deployment] = ofKind(documents, 'Deployment');
    const pod = deployment?.spec?.template.spec;
    assert.ok(pod);
    const settings = readContainerSettings(variablesOf(pod, documents));
    const whileStarting = 1;
    const connections =
      settings.databaseConnections + settings.databaseSaleConnections + whileStarting;
    const reserved = 20;
    const needed = pods.reduce((sum, one) => sum + one) * connections + reserved;
    const { postgresql } = parse(read('overlays/large/database.yaml')).spec;
    assert.ok(needed <= Number(postgresql.parameters.max_connections), `${needed} connections`);
  });

  test('each pod connects only to the ports of addresses that its role needs', () => {
    const ports = Object.fromEntries(
      ['small', 'large'].flatMap((overlay) =>
        ofKind(render(overlay), 'NetworkPolicy').map((policy) => [
          `${overlay} ${policy.metadata?.name}`,
          portsToAddresses(policy).join(' '),
        ]),
      ),
    );
    assert.deepEqual(ports, {
      'small switchyard': '5432 8583 465 587 443 8443',
      'large switchyard': '',
      'large switchyard-cards': '8583 443 8443',
      'large switchyard-identity': '443 8443',
      'large switchyard-connector': '',
      'large switchyard-portal': '',
      'large switchyard-payments': '',
      'large switchyard-jobs': '465 587 443 8443',
      'large switchyard-database': '',
    });
  });

  test('the overlay large has a Deployment for each role, and only `cards` has the keys of cards', () => {
    const documents = render('large');
    const deployments = ofKind(documents, 'Deployment');
    const roles = deployments.map(({ metadata, spec }) => {
      const pod = spec?.template.spec;
      assert.ok(pod);
      const role = metadata?.name?.replace('switchyard-', '') ?? '';
      assert.deepEqual(
        [...readContainerSettings(variablesOf(pod, documents)).roles].join(' '),
        role === 'connector' ? 'identity connector' : role,
      );
      assert.deepEqual(secretsOf(pod), [...commonSecrets, ...(secretsOfRoles[role] ?? [])].sort());
      assert.equal(pod.topologySpreadConstraints?.length, 2);
      for (const { labelSelector } of pod.topologySpreadConstraints ?? [])
        assert.equal(labelSelector?.matchLabels?.['app.kubernetes.io/component'], role);
      return role;
    });
    assert.deepEqual(roles.sort(), ['cards', 'connector', 'identity', 'jobs', 'portal']);
    for (const kind of ['PodDisruptionBudget', 'NetworkPolicy'] as const) {
      const names = ofKind(documents, kind).map(({ metadata }) => metadata?.name);
      for (const role of roles) assert.ok(names.includes(`switchyard-${role}`), `${kind} ${role}`);
    }
    const scaled = ofKind(documents, 'HorizontalPodAutoscaler').map(
      ({ spec }) => spec?.scaleTargetRef.name,
    );
    assert.deepEqual(
      scaled.sort(),
      roles.filter((role) => role !== 'jobs').map((role) => `switchyard-${role}`),
    );
  });
});

function readPageExamples(): readonly string[] {
  const page = join(repositoryRoot, 'docs/how-to/operators/run-in-containers.md');
  const blocks = readFileSync(page, 'utf8').matchAll(/^```yaml\n(.*?)^```$/gms);
  return [...blocks].map(([, text = '']) => text);
}

test('the example of the page renders over the overlay large', { skip }, (t) => {
  const [kustomization = '', policies = '', ...others] = readPageExamples();
  assert.equal(others.length, 0);
  const parent = mkdtempSync(join(tmpdir(), 'switchyard-kustomization-'));
  t.after(() => rmSync(parent, { recursive: true }));
  symlinkSync(repositoryRoot, join(parent, 'switchyard-0.1.0'));
  const example = join(parent, 'example');
  mkdirSync(example);
  writeFileSync(join(example, 'kustomization.yaml'), kustomization);
  writeFileSync(join(example, 'network-policies.yaml'), policies);
  writeFileSync(join(example, 'settings.env'), 'SWITCHYARD_ALLOWED_ADDRESSES=10.20.30.0/24:8583\n');
  const documents = renderFolder(example);
  assertValid(documents.map((document) => ({ file: 'the page', document, isPatch: false })));
  for (const { metadata, spec } of ofKind(documents, 'Deployment')) {
    const pod = spec?.template.spec;
    assert.ok(pod);
    assert.equal(pod.containers[0]?.image, 'registry.bank.example/switchyard:0.1.0');
    const variables = variablesOf(pod, documents);
    assert.equal(variables['SWITCHYARD_ALLOWED_ADDRESSES'], '10.20.30.0/24:8583');
    assert.equal(variables['SWITCHYARD_REGION'], 'eur', metadata?.name);
  }
  const [ingress] = ofKind(documents, 'Ingress');
  assert.equal(ingress?.spec?.rules?.[0]?.host, 'api.bank.example');
});

test('the PodMonitor selects the pods, their port, and the name of the job in the alerts', () => {
  const { spec } = parse(
    readFileSync(join(repositoryRoot, 'deploy/prometheus/pod-monitor.yaml'), 'utf8'),
  );
  const { template } = documentOf('base/deployment.yaml', 'Deployment').spec ?? {};
  const { labels = {} } = template?.metadata ?? {};
  assert.deepEqual(spec.selector.matchLabels, labels);
  const alerts = readFileSync(join(repositoryRoot, 'deploy/alerts/platform.yaml'), 'utf8');
  assert.ok(alerts.includes(`{job="${labels[spec.jobLabel]}"}`));
  const ports = template?.spec?.containers[0]?.ports?.map(({ name }) => name);
  assert.ok(ports?.includes(spec.podMetricsEndpoints[0].port));
});

test('every overlay and the base name only files that exist', () => {
  for (const file of globSync('**/kustomization.yaml', { cwd: folder })) {
    const {
      resources = [],
      components = [],
      patches = [],
      configMapGenerator = [],
    } = parse(read(file));
    const paths: string[] = [
      ...resources,
      ...components,
      ...patches.flatMap(({ path }: { path?: string }) => path ?? []),
      ...configMapGenerator.flatMap(({ envs }: { envs: string[] }) => envs),
    ];
    for (const path of paths) assert.ok(existsSync(join(folder, file, '..', path)), path);
  }
});
