// Approvals of acquirer links: the operator decides to which hosts the links of tenants connect.
import { type AcquirerLinkApproval, throwProblem } from '@switchyard/contract';
import { type Author, actorOf, platformAuthor } from '../../audit/index.ts';
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

type LinkTarget = { readonly host: string; readonly port: number };

/** The organisation of the operator, and the author of the approval. */
export type OperatorAuthor = { readonly operatorId: string; readonly author: Author };

export type AcquirerLinkApprovals = ReturnType<typeof createAcquirerLinkApprovals>;

export function createAcquirerLinkApprovals(
  deps: ResourceDeps & { readonly isOperator: (organizationId: string) => Promise<boolean> },
) {
  const { database, clock, audit, isOperator, onWrite } = deps;

  const isOperatorCaller = async ({ organizationId, entityType }: Caller): Promise<boolean> =>
    entityType === 'tenant' && (await isOperator(organizationId));

  /** Approves exactly the host and port that the operator has read, and not a concurrent change. */
  async function approveAs(
    { operatorId, author }: OperatorAuthor,
    acquirerLinkId: string,
    { host, port }: LinkTarget,
  ): Promise<AcquirerLinkApproval> {
    if (!isUuid(acquirerLinkId)) throwLinkNotFound();
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
      await audit.record(trx, { ...author, ...entry, organizationId: operatorId });
      // The audit of the tenant does not name the user of the operator.
      if (operatorId !== organizationId) {
        await audit.record(trx, { ...platformAuthor, ...entry, organizationId });
      }
      return approved;
    });
    onWrite(String(after['organization_id']));
    return toApprovalView(after);
  }

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

    approveAs,

    async approve(
      { caller, id }: { readonly caller: Caller; readonly id: string },
      acquirerLinkId: string,
      target: LinkTarget,
    ): Promise<AcquirerLinkApproval> {
      if (!(await isOperatorCaller(caller))) throwLinkNotFound();
      const { organizationId: operatorId } = caller;
      return approveAs({ operatorId, author: actorOf(caller, id) }, acquirerLinkId, target);
    },
  };
}
