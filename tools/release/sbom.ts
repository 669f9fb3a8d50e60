// Writes the list of the components of a release (SBOM) in the format CycloneDX 1.6.
import { createHash } from 'node:crypto';
import type { ProductionPackage } from './production-packages.ts';

export type SbomSubject = {
  readonly type: 'application' | 'container';
  readonly version: string;
  readonly commit: string;
  /** Epoch seconds. */
  readonly madeAt: number;
};

/** An installed package of the base image. */
export type DebianPackage = {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
};

type Component = {
  readonly type: string;
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly [member: string]: unknown;
};

/** `pkg:npm/%40scope/name@1.0.0`, see the specification of package URLs. */
const npmUrl = ({ name, version }: ProductionPackage): string =>
  `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** A member of an expression is no identifier of the SPDX list. */
const describeLicense = (license: string) =>
  license.includes(' ') ? { expression: license } : { license: { id: license } };

function describeNpmPackage(each: ProductionPackage): Component {
  const url = npmUrl(each);
  const [algorithm = '', digest = ''] = each.integrity.split('-');
  // Vulnerabilities of Node.js are published under this name, not under that of the npm package.
  const isNode = /^node-linux-/.test(each.name);
  return {
    type: isNode ? 'platform' : 'library',
    'bom-ref': url,
    name: each.name,
    version: each.version,
    ...(isNode && { cpe: `cpe:2.3:a:nodejs:node.js:${each.version}:*:*:*:*:*:*:*` }),
    licenses: [describeLicense(each.license)],
    hashes: [
      {
        alg: algorithm.toUpperCase().replace('SHA', 'SHA-'),
        content: Buffer.from(digest, 'base64').toString('hex'),
      },
    ],
    purl: url,
  };
}

function describeDebianPackage({ name, version, architecture }: DebianPackage): Component {
  const url = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
  return { type: 'library', 'bom-ref': url, name, version, purl: url };
}

/** The same content has the same identifier: a repeated release has the same bytes. */
function createSerialNumber(content: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const uuid = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(hash)?.slice(1) ?? [];
  const [first, second, third, fourth, fifth] = uuid;
  // Version 8 and the variant of RFC 9562: an identifier of the application's own making.
  return `urn:uuid:${first}-${second}-8${third}-8${fourth}-${fifth}`;
}

export function createSbom(
  { type, version, commit, madeAt }: SbomSubject,
  packages: readonly ProductionPackage[],
  debianPackages: readonly DebianPackage[] = [],
): string {
  const urlOf = new Map(packages.map((each) => [each.path, npmUrl(each)]));
  const components = new Map<string, Component>();
  const dependencies = new Map<string, Set<string>>();
  for (const each of packages) {
    const url = npmUrl(each);
    components.set(url, describeNpmPackage(each));
    const needed = dependencies.get(url) ?? new Set();
    dependencies.set(url, needed);
    for (const path of each.dependencies) {
      const neededUrl = urlOf.get(path);
      if (neededUrl !== undefined) needed.add(neededUrl);
    }
  }
  for (const each of debianPackages) {
    const component = describeDebianPackage(each);
    components.set(component['bom-ref'], component);
  }
  const url = `pkg:generic/switchyard@${version}`;
  const content = {
    metadata: {
      timestamp: new Date(madeAt * 1000).toISOString(),
      component: {
        type,
        'bom-ref': url,
        name: 'switchyard',
        version,
        licenses: [describeLicense('Apache-2.0')],
        purl: url,
        properties: [{ name: 'switchyard:commit', value: commit }],
      },
    },
    components: [...components.values()].toSorted((one, other) =>
      one['bom-ref'] < other['bom-ref'] ? -1 : 1,
    ),
    dependencies: [
      { ref: url, dependsOn: [...components.keys()].toSorted() },
      ...[...dependencies]
        .map(([ref, needed]) => ({ ref, dependsOn: [...needed].toSorted() }))
        .toSorted((one, other) => (one.ref < other.ref ? -1 : 1)),
    ],
  };
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: createSerialNumber(content),
    version: 1,
    ...content,
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
