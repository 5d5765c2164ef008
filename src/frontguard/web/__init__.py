"""The live page: what `frontguard serve` shows of the studies in a storage. It reads, and never writes.

`guard` decides who may ask, `app` what is answered, `watchers` keep up with the studies, `events` tell the open pages,
`server` runs it all; `pages` and `twins` say what is shown. Needs `frontguard[web]`.
"""
