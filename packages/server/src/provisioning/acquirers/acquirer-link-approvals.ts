// Approvals of acquirer links: the operator decides to which hosts the links of tenants connect.
import { type AcquirerLinkApproval, throwProblem } from '@switchyard/contract';
import { actorOf, platformAuthor } from '../../audit/index.ts';
import { type Caller, type FoundPage, type PageRequest, readPage } from '../../http/index.ts';
import { isoTime, isUuid, type Queries } from '../../platform/index.ts';
import type { ResourceDeps } from '../resources/resource-operations.ts';
import { createRowRepository, type Row } from '../resources/resource-sql.ts';
import { acquirerLinks } from '../resources/tables.ts';

const records = createRowRepository(acquirerLinks);

const throwLinkNotFound = () =>
  throwProblem('resource_not_found', 'No acquirer link that you can approve has this identifier.');

const toApprovalView = (row: Row): AcquirerLinkApproval => ({
  acquirerLinkId: String(row['acquirer_link_id']),
  organizationId: String(row['organization_id']),
  name: String(row['name']),
  adapter: row['adapter'] as AcquirerLinkApproval['adapter'],
  host: String(row['host']),
  port: Number(row['port']),
  tls: row['tls'] === true,
  approval: row['approval'] as AcquirerLinkApproval['approval'],
});

async function lockLink(queries: Queries, acquirerLinkId: string): Promise<Row> {
  const [row] = await queries.query(
    `SELECT ${records.selected} FROM acquirer_links
     WHERE acquirer_link_id = $1 AND removed_at IS NULL FOR UPDATE`,
    [acquirerLinkId],
  );
  return row ?? throwLinkNotFound();
}

export type AcquirerLinkApprovals = ReturnType<typeof createAcquirerLinkApprovals>;

export function createAcquirerLinkApprovals(
  deps: ResourceDeps & { readonly isOperator: (organizationId: string) => Promise<boolean> },
) {
  const { database, clock, audit, isOperator, onWrite } = deps;

  const isOperatorCaller = async ({ organizationId, entityType }: Caller): Promise<boolean> =>
    entityType === 'tenant' && (await isOperator(organizationId));

  return {
    async list(caller: Caller, page: PageRequest): Promise<FoundPage<AcquirerLinkApproval>> {
      if (!(await isOperatorCaller(caller))) return { items: [] };
      return readPage(
        page,
        ({ limit, after }) =>
          database.query(
            `SELECT ${records.selected} FROM acquirer_links
             WHERE approval = 'PendingApproval' AND removed_at IS NULL
               AND ($1::uuid IS NULL OR acquirer_link_id > $1)
             ORDER BY acquirer_link_id LIMIT $2`,
            [after ?? null, limit],
          ),
        (row) => String(row['acquirer_link_id']),
        toApprovalView,
      );
    },

    /**
     * Approves exactly the host and port that the operator has read, and not a concurrent change.
     */
    async approve(
      { caller, id }: { readonly caller: Caller; readonly id: string },
      acquirerLinkId: string,
      { host, port }: { readonly host: string; readonly port: number },
    ): Promise<AcquirerLinkApproval> {
      if (!isUuid(acquirerLinkId) || !(await isOperatorCaller(caller))) throwLinkNotFound();
      const after = await database.transaction(async (trx) => {
        const before = await lockLink(trx, acquirerLinkId);
        if (before['host'] !== host || before['port'] !== port) {
          throwProblem(
            'concurrent_modification',
            `The link leads to ${String(before['host'])}:${String(before['port'])}, not to ${host}:${port}; read the link again.`,
          );
        }
        if (before['approval'] === 'Approved') return before;
        const organizationId = String(before['organization_id']);
        const approved = await records.replace(trx, organizationId, acquirerLinkId, {
          approval: 'Approved',
          updated_at: isoTime(clock.now()),
        });
        const entry = {
          action: 'acquirerLink.approved',
          entity: { type: 'acquirerLink', id: acquirerLinkId },
          before: toApprovalView(before),
          after: toApprovalView(approved),
        };
        const { organizationId: operatorId } = caller;
        await audit.record(trx, { ...actorOf(caller, id), ...entry, organizationId: operatorId });
        // The audit of the tenant does not name the user of the operator.
        if (operatorId !== organizationId) {
          await audit.record(trx, { ...platformAuthor, ...entry, organizationId });
        }
        return approved;
      });
      onWrite(String(after['organization_id']));
      return toApprovalView(after);
    },
  };
}
