// Which package and module may import which. Every folder of the server is in the table below, and the
// table has no cycle, so that a module can be understood with those to its right only.
import { posix } from 'node:path';
import { type Fault, type Import, isTest, type SourceFile } from './source-files.ts';

/** A package of values knows only other values. */
export const packageTable: Record<string, string[]> = {
  money: [],
  emv: ['contract'],
  iso8583: ['money', 'contract'],
  nexo: ['money'],
  pin: [],
  pkcs11: [],
  contract: ['money'],
  simulators: ['money', 'emv', 'iso8583', 'nexo', 'pin', 'contract', 'sdk-device', 'sdk-provider'],
  'sdk-core': ['contract'],
  'sdk-device': ['contract', 'money', 'sdk-core'],
  'sdk-pos': ['contract', 'money', 'nexo', 'sdk-core'],
  'sdk-provider': ['contract', 'money', 'sdk-core'],
  portal: ['contract', 'money', 'nexo'],
  cli: ['contract', 'money', 'iso8583', 'pin', 'simulators', 'sdk-device', 'sdk-pos'],
  server: ['contract', 'money', 'emv', 'iso8583', 'nexo', 'pin', 'simulators'],
};

/** Besides these, every module may use `platform` and `http`. */
export const moduleTable: Record<string, string[]> = {
  reference: [],
  audit: [],
  logs: [],
  idempotency: [],
  identity: [],
  provisioning: ['audit'],
  onboarding: ['identity', 'provisioning', 'audit'],
  users: ['identity', 'provisioning', 'audit'],
  portal: ['identity', 'provisioning', 'audit'],
  health: ['audit'],
  catalog: ['provisioning', 'audit'],
  vault: [],
  acquiring: ['vault'],
  payments: ['provisioning', 'acquiring', 'vault', 'audit'],
  qr: ['provisioning', 'catalog'],
  webhooks: ['audit'],
  reporting: ['audit', 'payments', 'qr'],
  connector: ['identity', 'provisioning', 'catalog', 'audit'],
  demo: ['identity', 'provisioning', 'acquiring', 'catalog', 'vault', 'portal'],
};

/**
 * The order of sub-folders inside a module: each imports only those in earlier groups, and none of
 * its own group. Files beside the sub-folders come last.
 */
export const layerTable: Record<string, string[][]> = {
  payments: [
    ['transaction'],
    ['repository'],
    ['runtime'],
    ['card-input'],
    ['validation'],
    ['approvals'],
    ['reversals'],
    ['operations'],
    ['sale'],
    ['offline', 'recovery', 'batch-capture', 'clearing'],
    ['http'],
  ],
  platform: [
    ['time', 'caching', 'texts'],
    ['identifiers'],
    ['concurrency', 'net'],
    ['observability', 'crypto'],
    ['settings'],
    ['tls', 'process', 'tracing'],
    ['database'],
    ['events', 'jobs'],
    ['mail'],
    ['embedded-postgres'],
  ],
  http: [
    ['requests', 'responses'],
    ['authentication'],
    ['routes'],
    ['limits', 'openapi'],
    ['event-streams'],
    ['server'],
  ],
  identity: [
    ['infrastructure'],
    ['realms-and-keys'],
    ['clients'],
    ['accounts'],
    ['tokens'],
    ['sessions'],
    ['devices'],
    ['oauth'],
    ['login-pages'],
  ],
  provisioning: [
    ['resources'],
    ['organizations'],
    ['merchants'],
    ['sale-entities'],
    ['devices', 'acquirers'],
    ['search', 'bulk-import'],
  ],
  webhooks: [['endpoints', 'feed'], ['delivery']],
  connector: [
    ['protocol', 'runtime'],
    ['forwarding'],
    ['nodes'],
    ['devices'],
    ['sessions'],
    ['pos', 'device-connections'],
    ['retail-api'],
  ],
  qr: [
    ['transaction'],
    ['repository', 'providers'],
    ['runtime'],
    ['provider-queries'],
    ['operations'],
    ['http'],
  ],
  acquiring: [['spi'], ['keys', 'numbering', 'clearing'], ['iso8583-host', 'http-json'], ['links']],
  portal: [['pages', 'sessions'], ['sign-in'], ['terminals']],
  catalog: [
    ['parameters'],
    ['infrastructure'],
    ['services', 'subscriptions', 'provider-calls'],
    ['activations'],
    ['configuration', 'provider-dashboard'],
    ['configuration-delivery'],
  ],
  reporting: [
    ['infrastructure'],
    ['projection'],
    ['search', 'settlements'],
    ['summary', 'exports', 'reconciliation'],
  ],
  vault: [['hsm', 'key-providers']],
};

const baseModuleTable: Record<string, string[]> = { platform: [], http: ['platform'] };
const basePackages: Record<string, string[]> = {
  platform: ['contract', 'money'],
  http: ['contract', 'money', 'emv'],
};
const startFiles = ['main.ts', 'start.ts', 'application.ts', 'card-modules.ts'];
const scope = '@switchyard/';
const serverSource = 'packages/server/src/';

export function importFaults(file: SourceFile): Fault[] {
  return file.imports.flatMap((one) =>
    [
      packageFault(file, one),
      moduleFault(file, one),
      upwardFault(file, one),
      layerFault(file, one),
      routesFault(file, one),
      pureFault(file, one),
    ]
      .filter((text) => text !== undefined)
      .map((text) => ({ path: file.path, line: one.line, rule: 'imports', text })),
  );
}

function packageFault({ path }: SourceFile, { from }: Import): string | undefined {
  const ownPackage = /^packages\/([^/]+)\//.exec(path)?.[1];
  if (ownPackage === undefined) return undefined;
  const target = targetOf(path, from);
  if (target !== undefined && !target.startsWith(`packages/${ownPackage}/`)) {
    return `${from} leaves the package: import it by its name`;
  }
  if (!from.startsWith(scope)) return undefined;
  const [importedPackage = '', subPath] = from.slice(scope.length).split('/');
  const allowed = packageTable[ownPackage];
  if (allowed === undefined)
    return `${ownPackage} is a new package: give it a line in the package table`;
  const isTestSupport = isTest(path) || path.endsWith('.fixture.ts');
  if (subPath !== undefined && !(subPath === 'testing' && isTestSupport))
    return `${from} is inside the package: import its index.ts`;
  if (!allowed.includes(importedPackage)) return `${ownPackage} must not import ${from}`;
  const module = moduleOf(path);
  if (!isTest(path) && basePackages[module]?.includes(importedPackage) === false) {
    return `${module} must not import ${from}`;
  }
  return undefined;
}

function moduleFault({ path }: SourceFile, { from }: Import): string | undefined {
  if (!path.startsWith(serverSource)) return undefined;
  const target = targetOf(path, from);
  if (target === undefined || !target.startsWith(serverSource)) return undefined;
  const module = moduleOf(path);
  const importedModule = moduleOf(target);
  if (module === importedModule || startFiles.includes(module))
    return entranceFault(module, importedModule, target);
  const allowed = baseModuleTable[module] ?? moduleTable[module];
  if (allowed === undefined) return `${module} is a new module: give it a line in moduleTable`;
  const base = module in moduleTable ? Object.keys(baseModuleTable) : [];
  if (![...allowed, ...base].includes(importedModule))
    return `${module} must not import ${importedModule}`;
  return entranceFault(module, importedModule, target);
}

/** Each folder is entered by its index.ts; the files that start the process have no folder. */
function entranceFault(module: string, importedModule: string, target: string): string | undefined {
  if (module === importedModule || startFiles.includes(importedModule)) return undefined;
  if (target === `${serverSource}${importedModule}/index.ts`) return undefined;
  return `${importedModule} is entered by its index.ts, not by ${posix.basename(target)}`;
}

/** An index.ts imports the files of its folder, so a file there or below that imports it closes a cycle. */
function upwardFault({ path }: SourceFile, { from }: Import): string | undefined {
  const target = targetOf(path, from) ?? '';
  if (isTest(path) || !path.startsWith(serverSource)) return undefined;
  if (posix.basename(target) !== 'index.ts' || !path.startsWith(`${posix.dirname(target)}/`)) {
    return undefined;
  }
  return `${from} is above this file: import the file that declares the name`;
}

function routesFault({ path }: SourceFile, { from }: Import): string | undefined {
  const isRoutes = /(?:^|[-/])routes?\.ts$/.test(path) && path.startsWith(serverSource);
  if (!isRoutes || !/(?:(?:^|[-/])store|-sql)\.ts$/.test(from)) return undefined;
  return 'routes never import SQL: call the operation';
}

/** Inside a module with layers, a file imports only lower layers and its own. */
function layerFault({ path }: SourceFile, { from }: Import): string | undefined {
  const target = targetOf(path, from);
  const module = moduleOf(path);
  const layers = layerTable[module];
  if (layers === undefined || isTest(path) || target === undefined || moduleOf(target) !== module) {
    return undefined;
  }
  const [ownFolder, importedModule] = [folderInModule(path), folderInModule(target)];
  if (ownFolder === importedModule) return undefined;
  const [ownLayer, wantedLayer] = [ownFolder, importedModule].map((folder) =>
    layers.findIndex((group) => group.includes(folder)),
  ) as [number, number];
  if (ownFolder !== '' && ownLayer === -1)
    return `${ownFolder} is a new folder: give it a line in the layers`;
  const isLower = wantedLayer !== -1 && (ownFolder === '' || wantedLayer < ownLayer);
  return isLower
    ? undefined
    : `${ownFolder} must not import ${importedModule === '' ? from : importedModule}`;
}

/** `sale` for `payments/sale/process-sale.ts`; empty for files beside the folders. */
function folderInModule(path: string): string {
  const parts = path.slice(serverSource.length).split('/');
  return parts.length > 2 ? (parts[1] ?? '') : '';
}

const isPure = (path: string): boolean =>
  path.startsWith(serverSource) &&
  /\/(?:state|state-machine|(?:naming-|group-assignment-|format-|claim-|payment-request-)?rules)\.ts$/.test(
    path,
  );

function pureFault({ path }: SourceFile, { from, typeOnly }: Import): string | undefined {
  if (!isPure(path)) return undefined;
  if (isOutside(from) || (isImpure(path, from) && !typeOnly)) {
    return `a pure file must not import ${from}`;
  }
  return undefined;
}

const isOutside = (from: string): boolean => from.startsWith('node:') || from === 'pg';

function isImpure(path: string, from: string): boolean {
  const target = targetOf(path, from) ?? '';
  return /\/platform\//.test(target) || /\/store\.ts$/.test(target);
}

/** Doors that a pure file may use for a list of names behind them. */
const allowedInternalImports: Readonly<Record<string, readonly string[]>> = {
  [`${serverSource}onboarding/derive-default-names.ts`]: ['../identity/index.ts'],
};

/** The impure files that a file loads; the index.ts of another module loads the whole module. */
function impureLoad({ path, imports }: SourceFile): string | undefined {
  const loads = imports.filter(({ typeOnly }) => !typeOnly).map(({ from }) => from);
  return loads.find((from) => {
    if (allowedInternalImports[path]?.includes(from) === true) return false;
    const target = targetOf(path, from);
    const leaves = target !== undefined && moduleOf(target) !== moduleOf(path);
    return isOutside(from) || isImpure(path, from) || leaves;
  });
}

/** The same along the way: a pure file loads what the files of its module load that it imports. */
export function pureModuleFaults(files: readonly SourceFile[]): Fault[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const loaded = ({ path, imports }: SourceFile): SourceFile[] =>
    imports.flatMap(({ from, typeOnly }) => {
      const target = typeOnly ? undefined : targetOf(path, from);
      const loadedFile = target === undefined ? undefined : byPath.get(target);
      return loadedFile !== undefined && moduleOf(loadedFile.path) === moduleOf(path)
        ? [loadedFile]
        : [];
    });
  return files
    .filter(({ path }) => isPure(path))
    .flatMap((pure) => {
      const reached = new Set([pure]);
      // Files that are added during the loop are visited too.
      for (const file of reached) for (const next of loaded(file)) reached.add(next);
      return [...reached].flatMap((file) => {
        const load = impureLoad(file);
        if (load === undefined) return [];
        const text = `a pure file must not load ${load}, as ${posix.basename(file.path)} does`;
        return [{ path: pure.path, line: 1, rule: 'imports', text }];
      });
    });
}

/** The first folder inside a module, such as `identity/devices`; undefined for files beside it. */
function subFolderOf(path: string): string | undefined {
  const [module, folder, file] = path.startsWith(serverSource)
    ? path.slice(serverSource.length).split('/')
    : [];
  return file === undefined ? undefined : `${module}/${folder}`;
}

/** Inside a module, a sub-folder imports the index.ts only of sub-folders that do not depend on it. */
export function siblingImportFaults(files: readonly SourceFile[]): Fault[] {
  const sources = files.filter(({ path }) => !isTest(path));
  const byPath = new Map(sources.map((file) => [file.path, file]));
  const imported = ({ path, imports }: SourceFile): SourceFile[] =>
    imports.flatMap(({ from }) => byPath.get(targetOf(path, from) ?? '') ?? []);

  const dependencies = new Map<string, Set<string | undefined>>();
  function dependenciesOf(folder: string): Set<string | undefined> {
    const cached = dependencies.get(folder);
    if (cached !== undefined) return cached;
    const reached = new Set(sources.filter(({ path }) => subFolderOf(path) === folder));
    // The set grows while it is read.
    for (const file of reached) for (const next of imported(file)) reached.add(next);
    const folders = new Set([...reached].map(({ path }) => subFolderOf(path)));
    dependencies.set(folder, folders);
    return folders;
  }

  return sources.flatMap(({ path, imports }) => {
    const ownFolder = subFolderOf(path);
    return imports.flatMap(({ from, line }) => {
      const target = targetOf(path, from) ?? '';
      const sibling = subFolderOf(target);
      const isSibling = ownFolder !== undefined && sibling !== undefined && ownFolder !== sibling;
      if (!isSibling || moduleOf(path) !== moduleOf(target)) return [];
      if (target !== `${serverSource}${sibling}/index.ts`) return [];
      if (!dependenciesOf(sibling).has(ownFolder)) return [];
      const text = `${ownFolder} must not import ${from}: ${sibling} depends on ${ownFolder}`;
      return [{ path, line, rule: 'imports', text }];
    });
  });
}

/** The folder of the server in which a file lies; for a file that starts the process its own name. */
function moduleOf(path: string): string {
  return path.startsWith(serverSource) ? (path.slice(serverSource.length).split('/')[0] ?? '') : '';
}

function targetOf(path: string, from: string): string | undefined {
  return from.startsWith('.') ? posix.join(posix.dirname(path), from) : undefined;
}

/** The names along a cycle in an import table, or undefined. */
export function findCycle(table: Record<string, string[]>): string[] | undefined {
  const done = new Set<string>();
  function search(name: string, trail: string[]): string[] | undefined {
    if (trail.includes(name)) return [...trail.slice(trail.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const next of table[name] ?? []) {
      const cycle = search(next, [...trail, name]);
      if (cycle !== undefined) return cycle;
    }
    done.add(name);
    return undefined;
  }
  for (const name of Object.keys(table)) {
    const cycle = search(name, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
