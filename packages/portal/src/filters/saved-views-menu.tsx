/** The menu of saved views: apply, save or delete a view. */
import { ActionIcon, Button, Menu, Modal, TextInput } from '@mantine/core';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Icon } from '../components/icon.tsx';
import { useTranslate } from '../locales/index.ts';
import { useSession } from '../session/use-session.ts';
import { addView, maxNameLength, readViews, type SavedView, writeViews } from './saved-views.ts';

export function SavedViewsMenu({ list }: { readonly list: string }) {
  const t = useTranslate('components');
  const { sub } = useSession().user;
  const navigate = useNavigate();
  const search = useRouterState({ select: ({ location }) => location.searchStr });
  const [views, setViews] = useState(() => readViews(list, sub));
  const [isNaming, setNaming] = useState(false);

  function storeViews(next: SavedView[]): void {
    writeViews(list, sub, next);
    setViews(next);
  }

  function apply(view: SavedView): void {
    const values = Object.fromEntries(new URLSearchParams(view.search));
    void navigate({ to: '.', search: values as never });
  }

  return (
    <>
      <Menu>
        <Menu.Target>
          <Button variant="default" leftSection={<Icon name="bookmark" size={16} />}>
            {t('views.title')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown maw={320}>
          {views.length === 0 && <Menu.Label>{t('views.none')}</Menu.Label>}
          {views.map((view) => (
            <div key={view.name} className="sy-view">
              <Menu.Item onClick={() => apply(view)}>
                <span className="sy-cut">{view.name}</span>
              </Menu.Item>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={t('views.delete', { name: view.name })}
                onClick={() => storeViews(views.filter(({ name }) => name !== view.name))}
              >
                <Icon name="trash" size={16} />
              </ActionIcon>
            </div>
          ))}
          <Menu.Divider />
          <Menu.Item
            leftSection={<Icon name="plus" size={16} />}
            disabled={search === ''}
            onClick={() => setNaming(true)}
          >
            {t('views.save')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal
        opened={isNaming}
        onClose={() => setNaming(false)}
        title={t('views.save')}
        closeButtonProps={{ 'aria-label': t('close') }}
      >
        <NameForm
          onName={(name) => {
            storeViews(addView(views, { name, search }));
            setNaming(false);
          }}
        />
      </Modal>
    </>
  );
}

function NameForm({ onName }: { readonly onName: (name: string) => void }) {
  const t = useTranslate('components');
  const [name, setName] = useState('');
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (name.trim() !== '') onName(name.trim());
  }
  return (
    <form onSubmit={submit} className="sy-confirm">
      <TextInput
        label={t('views.name')}
        value={name}
        maxLength={maxNameLength}
        data-autofocus
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <div className="sy-confirm-buttons">
        <Button type="submit" disabled={name.trim() === ''}>
          {t('save')}
        </Button>
      </div>
    </form>
  );
}
