// `npm run generate`: writes the documents that come from code. With --check it writes nothing and
// fails when one of them is not what the code would write now.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { certificationPlanSchemaDocument } from '../admin/certify/certification-plan.ts';
import { repositoryRoot } from '../repository-root.ts';
import { operationOutcomesDocument } from './acquirer-response-outcomes.ts';
import { acquirerSpiDocument } from './acquirer-spi.ts';
import { type ApplicationDescription, describeApplication } from './application-description.ts';
import { asyncApiText, terminalParametersDocument } from './asyncapi-and-terminal-parameters.ts';
import { commandLineDocument, estateSchemaDocument } from './command-line.ts';
import { cryptographyDocument } from './cryptography.ts';
import { dashboards, dashboardText } from './dashboards/dashboards.ts';
import { dataModelDiagram } from './diagrams/data-model.ts';
import { architectureBlocks } from './diagrams/modules.ts';
import { qrHoldsTable, qrStatesTable, qrTransitionsTable } from './diagrams/qr-states.ts';
import { statesTable, transitionsDiagram } from './diagrams/states.ts';
import { actionCodesTable, builtInHostsTable, fieldFormatsTable } from './dialects.ts';
import { errorsDocument } from './errors.ts';
import { eventsDocument } from './events.ts';
import { hostTableSchemaDocument } from './host-table-schema.ts';
import { replaceBlock, replaceBlocks } from './markdown.ts';
import { metricsDocument } from './metrics.ts';
import { permissionsDocument } from './permissions.ts';
import { providerSpiDocument } from './provider-spi.ts';
import { sdkReference } from './sdk-reference.ts';
import { settingsDocument } from './settings.ts';
import { fillProofs, readTestFiles } from './spec-coverage.ts';

type Generated = { path: string; write: (present: string) => string | Promise<string> };

const schemaPath = 'packages/server/migrations/0001-baseline.sql';
const note = '<!-- Written by `npm run generate`; edit the code instead. -->\n\n';

/** Created once for all documents that need it. */
let description: Promise<ApplicationDescription> | undefined;
const describe = (): Promise<ApplicationDescription> => (description ??= describeApplication());
const openApi = async (): Promise<string> => (await describe()).openApi;

const documents: Generated[] = [
  { path: 'docs/reference/errors.md', write: () => note + errorsDocument() },
  {
    path: 'docs/reference/operation-outcomes.md',
    write: () => note + operationOutcomesDocument(),
  },
  { path: 'docs/reference/cryptography.md', write: () => note + cryptographyDocument() },
  { path: 'docs/reference/settings.md', write: () => note + settingsDocument() },
  { path: 'docs/reference/events.md', write: () => note + eventsDocument() },
  {
    path: 'docs/reference/permissions.md',
    write: async () => note + permissionsDocument(await openApi()),
  },
  {
    path: 'docs/reference/metrics.md',
    write: async () => note + metricsDocument((await describe()).metrics),
  },
  ...(['sdk-pos', 'sdk-provider', 'sdk-device'] as const).map((sdk) => ({
    path: `docs/reference/${sdk}.md`,
    write: () => note + sdkReference(repositoryRoot, sdk),
  })),
  ...dashboards.map((dashboard) => ({
    path: `deploy/dashboards/${dashboard.name}.json`,
    write: () => dashboardText(dashboard),
  })),
  { path: 'docs/reference/openapi.json', write: openApi },
  { path: 'docs/reference/asyncapi.json', write: asyncApiText },
  {
    path: 'docs/spec-coverage.md',
    write: (present) => fillProofs(present, readTestFiles(repositoryRoot)),
  },
  { path: 'docs/reference/acquirer-spi.json', write: acquirerSpiDocument },
  { path: 'docs/reference/provider-spi.json', write: providerSpiDocument },
  { path: 'docs/reference/cli.md', write: () => note + commandLineDocument() },
  { path: 'docs/reference/estate.schema.json', write: estateSchemaDocument },
  {
    path: 'docs/reference/certification-plan.schema.json',
    write: certificationPlanSchemaDocument,
  },
  { path: 'docs/reference/host-table.schema.json', write: hostTableSchemaDocument },
  { path: 'docs/reference/emv-terminal-parameters.json', write: terminalParametersDocument },
  {
    path: 'docs/explanation/data-model.md',
    write: (present) =>
      replaceBlock(present, 'diagram', dataModelDiagram(read(join(repositoryRoot, schemaPath)))),
  },
  {
    path: 'docs/reference/dialects.md',
    write: (present) =>
      replaceBlocks(present, {
        hosts: builtInHostsTable(),
        fields: fieldFormatsTable(),
        codes: actionCodesTable(),
      }),
  },
  {
    path: 'docs/explanation/architecture.md',
    write: (present) => replaceBlocks(present, architectureBlocks()),
  },
  {
    path: 'docs/explanation/qr-payments.md',
    write: (present) =>
      replaceBlocks(present, {
        states: qrStatesTable(),
        moves: qrTransitionsTable(),
        holds: qrHoldsTable(),
      }),
  },
  {
    path: 'docs/explanation/states.md',
    write: (present) =>
      replaceBlocks(present, { states: statesTable(), moves: transitionsDiagram() }),
  },
];

function read(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

async function findOutdatedDocuments(): Promise<{ path: string; text: string }[]> {
  const changed: { path: string; text: string }[] = [];
  for (const { path, write } of documents) {
    const present = read(join(repositoryRoot, path));
    const text = await write(present);
    if (text !== present) changed.push({ path, text });
  }
  return changed;
}

const changed = await findOutdatedDocuments();
if (process.argv.includes('--check')) {
  for (const { path } of changed) console.error(`${path} is out of date. Run npm run generate.`);
  process.exitCode = changed.length === 0 ? 0 : 1;
} else {
  for (const { path, text } of changed) {
    mkdirSync(dirname(join(repositoryRoot, path)), { recursive: true });
    writeFileSync(join(repositoryRoot, path), text);
    console.log(`wrote ${path}`);
  }
  if (changed.length === 0) console.log('All generated documents are up to date.');
}
