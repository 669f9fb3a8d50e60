/** One contract: what the acquirer takes for the merchant, how it is captured, and which sales come to it. */
import { Table } from '@mantine/core';
import type { AcquirerContract } from '@switchyard/contract';
import { Link, useNavigate } from '@tanstack/react-router';
import { useParam } from '../../app/url-params.ts';
import { EmptyState, Facts, Page, Panel } from '../../components/layout/page.tsx';
import { EntityName, useEntityName } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan, useFormats, useSession } from '../../session/use-session.ts';
import { LabelList, PageInWait, StatusBadge, useCommonFacts } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { useVersioned } from '../estate/versioned-entities.ts';
import './acquirers.css';

function Agreed({ of }: { readonly of: AcquirerContract }) {
  const t = useTranslate('estate');
  const common = useCommonFacts(of.contractId, of);
  const isOfOrganization = useSession().merchantId === undefined;
  const { acquirerLink, terminalIdRange } = of;
  const name = <EntityName key="link" kind="acquirer-links" id={acquirerLink} />;
  return (
    <Panel title={t('sections.contract')}>
      <Facts
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
          [t('fields.acquirerMerchantId'), of.acquirerMerchantId],
          [t('fields.terminals'), `${terminalIdRange.from} – ${terminalIdRange.to}`],
          [t('fields.currencies'), of.currencies.join(', ')],
          [t('fields.mcc'), of.mcc ?? t('ofMerchant')],
          ...common,
        ]}
      />
    </Panel>
  );
}

function Capture({ of }: { readonly of: AcquirerContract }) {
  const t = useTranslate('estate');
  const formats = useFormats();
  const yes = (is: boolean) => t(is ? 'yes' : 'no');
  return (
    <Panel title={t('sections.capture')}>
      <Facts
        items={[
          [
            t('fields.captureModes'),
            of.captureModes.map((mode) => t(`options.${mode}`)).join(', '),
          ],
          [t('fields.defaultCaptureMode'), t(`options.${of.defaultCaptureMode}`)],
          [t('fields.captureTransport'), t(`options.${of.captureTransport}`)],
          [t('fields.cutOverTime'), of.cutOverTime],
          [t('fields.holdDays'), formats.number(of.holdDays)],
          [t('fields.overCapturePercent'), formats.percent(of.overCapturePercent / 100)],
          [t('fields.partialCancel'), yes(of.partialCancel)],
          [t('fields.multipleCapture'), yes(of.multipleCapture)],
          [t('fields.partialApproval'), yes(of.partialApproval)],
          [t('fields.clearCardData'), t(`options.${of.clearCardData}`)],
          [t('fields.offlineLimits.maxAgeHours'), formats.number(of.offlineLimits.maxAgeHours)],
          [t('fields.offlineLimits.maxCount'), formats.number(of.offlineLimits.maxCount)],
        ]}
      />
    </Panel>
  );
}

function Routing({ of: { routing } }: { readonly of: AcquirerContract }) {
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
  const merchantId = useParam('merchantId');
  const contractId = useParam('contractId');
  const address = addresses.contract(merchantId, contractId);
  const query = useVersioned<AcquirerContract>(address);
  const isOfOrganization = useSession().merchantId === undefined;
  const mayWrite = useCan('prov.write') && isOfOrganization;
  const here = `/merchants/${merchantId}`;
  const merchantName = useEntityName('merchants', merchantId);
  const back = { to: here, label: merchantName ?? t('kinds.merchant.one') };
  if (query.data === undefined) {
    return <PageInWait of={query} title={t('kinds.contract.one')} back={back} />;
  }
  const { body } = query.data;
  return (
    <Page
      title={body.name}
      aside={<StatusBadge status={body.status} />}
      back={back}
      actions={
        <EntityActions
          kind="contract"
          address={address}
          of={query.data}
          editTo={`${here}/contracts/${contractId}/edit`}
          mayWrite={mayWrite}
          onDeleted={() => void navigate({ to: here, search: { tab: 'contracts' } as never })}
        />
      }
    >
      <Agreed of={body} />
      <Capture of={body} />
      <Routing of={body} />
      <LabelList labels={body.labels} />
    </Page>
  );
}
