// SQL for acquirer links and contracts: the links to open, and terminals that contracts share.
import type { Queries } from '../../platform/index.ts';
import type { Row } from '../resources/resource-sql.ts';

/** One process cannot keep more links open. */
const linksMax = 1000;

const isInUseSql = "status = 'Enabled' AND removed_at IS NULL";
const selectLinksSql = `SELECT organization_id, acquirer_link_id, name, adapter, host, port, tls,
    client_certificate, institution_id, dialect, connections, tpdu, zone_pin_key, mac_key,
    zone_master_key, http_json, NOT (${isInUseSql}) AS is_finishing
  FROM acquirer_links`;

/** Reads links of every organisation, which no API caller can do. */
export function selectLinksToOpen(
  queries: Queries,
  alsoLinkIds: readonly string[],
): Promise<Row[]> {
  return queries.query(
    `${selectLinksSql}
     WHERE ((${isInUseSql}) OR acquirer_link_id = ANY($1::uuid[])) AND approval = 'Approved'
     ORDER BY organization_id, acquirer_link_id LIMIT ${linksMax}`,
    [alsoLinkIds],
  );
}

/** Finds approved links of every organisation, enabled or not. */
export function selectLinksByNameOrId(queries: Queries, nameOrId: string): Promise<Row[]> {
  return queries.query(
    `${selectLinksSql}
     WHERE (acquirer_link_id::text = $1 OR name = $1) AND approval = 'Approved' AND removed_at IS NULL
     ORDER BY organization_id LIMIT ${linksMax}`,
    [nameOrId],
  );
}

/** Finds a link even if it was disabled or removed, because its transactions must be finished. */
export async function selectInstitutionId(
  queries: Queries,
  organizationId: string,
  linkId: string,
): Promise<string | undefined> {
  const [row] = await queries.query(
    `SELECT institution_id FROM acquirer_links
     WHERE organization_id = $1 AND acquirer_link_id = $2`,
    [organizationId, linkId],
  );
  return row === undefined ? undefined : String(row['institution_id']);
}

/**
 * Terminal ids have equal lengths, so their byte order is their numeric order. Removed contracts
 * count too, because a reversal may still be in progress.
 */
export async function sharesTerminals(
  queries: Queries,
  contract: {
    organizationId: string;
    linkId: string;
    contractId: string | undefined;
    from: string;
    to: string;
  },
): Promise<boolean> {
  const { organizationId, linkId, contractId, from, to } = contract;
  // Two parts, because each of the two partial indexes covers only active or only removed rows.
  const sharing = (removed: string) => `SELECT contract_id FROM acquirer_contracts
     WHERE organization_id = $1 AND acquirer_link_id = $2 AND removed_at IS ${removed}
       AND terminal_id_from COLLATE "C" <= $4 AND terminal_id_to COLLATE "C" >= $3
       AND contract_id IS DISTINCT FROM $5`;
  const rows = await queries.query(`${sharing('NULL')} UNION ALL ${sharing('NOT NULL')} LIMIT 1`, [
    organizationId,
    linkId,
    from,
    to,
    contractId ?? null,
  ]);
  return rows.length > 0;
}

/**
 * Whether a contract of any link to this host assigns the terminal to payments, or did so before it
 * was removed. Two links to one host can belong to different organisations.
 */
export async function isTerminalOfHost(
  queries: Queries,
  { host, port }: { readonly host: string; readonly port: number },
  terminalId: string,
): Promise<boolean> {
  const rows = await queries.query(
    `SELECT contract_id FROM acquirer_contracts
       JOIN acquirer_links USING (organization_id, acquirer_link_id)
     WHERE host = $1 AND port = $2 AND length(terminal_id_from) = length($3::text)
       AND terminal_id_from COLLATE "C" <= $3 AND terminal_id_to COLLATE "C" >= $3
     LIMIT 1`,
    [host, port, terminalId],
  );
  return rows.length > 0;
}
