// Acquirer links: where and how an acquirer is reached.
import type { AcquirerLink } from '@switchyard/contract';
import { type Database, isLoopbackHost } from '../platform/index.ts';
import { refuseField } from './errors.ts';
import { createResource, type Deps, type Kind, type Resource } from './resource.ts';
import { listLinksToOpen, runOn } from './store.ts';
import { acquirerContracts, acquirerLinks } from './tables.ts';
import { holdOrganization } from './tree.ts';
import { commonMembers, viewOf } from './view.ts';

const kind: Kind<AcquirerLink> = {
  table: acquirerLinks,
  notFound: 'resource_not_found',
  idMember: 'acquirerLinkId',
  filters: {},
  hold: (run, { organizationId }) => holdOrganization(run, organizationId),
  dependants: [{ type: 'AcquirerContract', table: acquirerContracts, column: 'acquirer_link_id' }],
  toView: (row) =>
    viewOf(row, {
      acquirerLinkId: row['acquirer_link_id'],
      ...commonMembers(row),
      adapter: row['adapter'],
      host: row['host'],
      port: row['port'],
      tls: row['tls'],
      institutionId: row['institution_id'],
    }),
  async columns(_run, _scope, input) {
    const tls = input['tls'] ?? true;
    if (tls !== true && !isLoopbackHost(String(input['host']))) {
      refuseField('/tls', 'may be false for a loopback host alone');
    }
    return {
      adapter: input['adapter'] ?? 'Iso8583Host',
      host: input['host'],
      port: input['port'],
      tls,
      institution_id: input['institutionId'],
    };
  },
  readOnly: () => ({}),
};

export const createAcquirerLinks = (deps: Deps): Resource<AcquirerLink> =>
  createResource(deps, kind);

/** What the acquiring room opens a connection with. */
export type LinkToOpen = {
  organizationId: string;
  linkId: string;
  name: string;
  adapter: 'iso8583-host';
  settings: { host: string; port: number; tls: boolean; institutionId: string };
};

/** Reads the links of all organisations, which no caller from outside can. */
export function createLinkDirectory(
  database: Database,
): (also?: readonly string[]) => Promise<LinkToOpen[]> {
  return async (also = []) => {
    const rows = await listLinksToOpen(runOn(database), also);
    return rows.map((row) => ({
      organizationId: String(row['organization_id']),
      linkId: String(row['acquirer_link_id']),
      name: String(row['name']),
      adapter: 'iso8583-host',
      settings: {
        host: String(row['host']),
        port: Number(row['port']),
        tls: row['tls'] === true,
        institutionId: String(row['institution_id']),
      },
    }));
  };
}
