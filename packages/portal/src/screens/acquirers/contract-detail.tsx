/** The page of an acquirer contract: agreement, capture rules and routing rules. */
import { Table } from '@mantine/core';
import type { AcquirerContract } from '@switchyard/contract';
import { Link, useNavigate } from '@tanstack/react-router';
import { usePathParam } from '../../app/url-params.ts';
import { DescriptionList, EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { EntityName, useEntityName } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission, useSession } from '../../session/use-session.ts';
import { LabelList, StatusBadge, useCommonDetails } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { useVersionedEntity } from '../estate/estate-data.ts';
import './acquirers.css';

function AgreementPanel({ contract }: { readonly contract: AcquirerContract }) {
  const t = useTranslate('estate');
  const common = useCommonDetails(contract.contractId, contract);
  const isOfOrganization = useSession().merchantId === undefined;
  const { acquirerLink, terminalIdRange } = contract;
  const name = <EntityName key="link" kind="acquirer-links" id={acquirerLink} />;
  return (
    <Panel title={t('sections.contract')}>
      <DescriptionList
        items={[
          [
            t('fields.acquirerLink'),
            isOfOrganization ? (
              <Link key="link" className="sy-link" to={`/acquirers/${acquirerLink}`}>
                {name}
              </Link>
            ) : (
              name
            ),
          ],
          [t('fields.acquirerMerchantId'), contract.acquirerMerchantId],
          [t('fields.terminals'), `${terminalIdRange.from} – ${terminalIdRange.to}`],
          [t('fields.currencies'), contract.currencies.join(', ')],
          [t('fields.mcc'), contract.mcc ?? t('ofMerchant')],
          ...common,
        ]}
      />
    </Panel>
  );
}

function Capture({ contract }: { readonly contract: AcquirerContract }) {
  const t = useTranslate('estate');
  const formats = useFormats();
  const yes = (is: boolean) => t(is ? 'yes' : 'no');
  return (
    <Panel title={t('sections.capture')}>
      <DescriptionList
        items={[
          [
            t('fields.captureModes'),
            contract.captureModes.map((mode) => t(`options.${mode}`)).join(', '),
          ],
          [t('fields.defaultCaptureMode'), t(`options.${contract.defaultCaptureMode}`)],
          [t('fields.captureTransport'), t(`options.${contract.captureTransport}`)],
          [t('fields.cutOverTime'), contract.cutOverTime],
          [t('fields.holdDays'), formats.number(contract.holdDays)],
          [t('fields.overCapturePercent'), formats.percent(contract.overCapturePercent / 100)],
          [t('fields.partialCancel'), yes(contract.partialCancel)],
          [t('fields.multipleCapture'), yes(contract.multipleCapture)],
          [t('fields.partialApproval'), yes(contract.partialApproval)],
          [t('fields.clearCardData'), t(`options.${contract.clearCardData}`)],
          [
            t('fields.offlineLimits.maxAgeHours'),
            formats.number(contract.offlineLimits.maxAgeHours),
          ],
          [t('fields.offlineLimits.maxCount'), formats.number(contract.offlineLimits.maxCount)],
        ]}
      />
    </Panel>
  );
}

function Routing({ contract: { routing } }: { readonly contract: AcquirerContract }) {
  const t = useTranslate('estate');
  const formats = useFormats();
  const amount = (minor: number | undefined, currencies: readonly string[] = []) =>
    minor === undefined ? '–' : formats.money(minor, currencies[0] ?? '');
  return (
    <Panel title={t('routing.title')} flush>
      {routing.length === 0 ? (
        <EmptyState icon="filter" title={t('routing.noneTitle')}>
          {t('routing.noneText')}
        </EmptyState>
      ) : (
        <div className="sy-rules">
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t('routing.schemes')}</Table.Th>
                <Table.Th>{t('fields.currencies')}</Table.Th>
                <Table.Th ta="end">{t('routing.from')}</Table.Th>
                <Table.Th ta="end">{t('routing.to')}</Table.Th>
                <Table.Th ta="end">{t('routing.weight')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {routing.map((rule) => (
                <Table.Tr key={JSON.stringify(rule)}>
                  <Table.Td>{rule.schemes?.join(', ') ?? t('routing.any')}</Table.Td>
                  <Table.Td>{rule.currencies?.join(', ') ?? t('routing.any')}</Table.Td>
                  <Table.Td ta="end">{amount(rule.amountFrom, rule.currencies)}</Table.Td>
                  <Table.Td ta="end">{amount(rule.amountTo, rule.currencies)}</Table.Td>
                  <Table.Td ta="end">{formats.number(rule.weight ?? 100)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </Panel>
  );
}

export default function ContractPage() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const merchantId = usePathParam('merchantId');
  const contractId = usePathParam('contractId');
  const address = estateApiUrls.contract(merchantId, contractId);
  const query = useVersionedEntity<AcquirerContract>(address);
  const isOfOrganization = useSession().merchantId === undefined;
  const mayWrite = useHasPermission('prov.write') && isOfOrganization;
  const path = `/merchants/${merchantId}`;
  const merchantName = useEntityName('merchants', merchantId);
  const backLink = { to: path, label: merchantName ?? t('kinds.merchant.one') };
  if (query.data === undefined) {
    return <PendingPage query={query} title={t('kinds.contract.one')} backLink={backLink} />;
  }
  const { body } = query.data;
  return (
    <Page
      title={body.name}
      aside={<StatusBadge status={body.status} />}
      backLink={backLink}
      actions={
        <EntityActions
          kind="contract"
          address={address}
          versioned={query.data}
          editTo={`${path}/contracts/${contractId}/edit`}
          mayWrite={mayWrite}
          onDeleted={() => void navigate({ to: path, search: { tab: 'contracts' } as never })}
        />
      }
    >
      <AgreementPanel contract={body} />
      <Capture contract={body} />
      <Routing contract={body} />
      <LabelList labels={body.labels} />
    </Page>
  );
}
